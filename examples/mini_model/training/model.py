# SPDX-License-Identifier: MIT
"""A small llama model: RMSNorm, rotary positions, grouped-query attention and SwiGLU.

Modules carry the names of their tensors in GGUF, so that exporting is a loop over the parameters.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int
    layers: int = 6
    hidden: int = 64
    query_heads: int = 4
    kv_heads: int = 2
    head_dim: int = 16
    feed_forward: int = 192
    context: int = 2048
    rope_base: float = 10000.0
    rms_eps: float = 1e-5


class RmsNorm(nn.Module):
    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


def rotary_table(config: Config, length: int):
    """Cosine and sine of position * base^(-2i / head_dim), both [length, head_dim / 2]."""
    exponents = torch.arange(0, config.head_dim, 2) / config.head_dim
    angles = torch.arange(length)[:, None] * config.rope_base ** -exponents
    return angles.cos(), angles.sin()


def rotate(x, table):
    """Rotates the pairs (2i, 2i + 1) of x [batch, heads, length, head_dim]."""
    cosine, sine = table
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cosine - b * sine, a * sine + b * cosine), dim=-1).flatten(-2)


class Block(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        c = config
        self.config = c
        self.attn_norm = RmsNorm(c.hidden, c.rms_eps)
        self.attn_q = nn.Linear(c.hidden, c.query_heads * c.head_dim, bias=False)
        self.attn_k = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=False)
        self.attn_v = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=False)
        self.attn_output = nn.Linear(c.query_heads * c.head_dim, c.hidden, bias=False)
        self.ffn_norm = RmsNorm(c.hidden, c.rms_eps)
        self.ffn_gate = nn.Linear(c.hidden, c.feed_forward, bias=False)
        self.ffn_up = nn.Linear(c.hidden, c.feed_forward, bias=False)
        self.ffn_down = nn.Linear(c.feed_forward, c.hidden, bias=False)

    def forward(self, x, table, visible):
        x = x + self.attention(self.attn_norm(x), table, visible)
        return x + self.feed_forward(self.ffn_norm(x))

    def attention(self, x, table, visible):
        batch, length, _ = x.shape

        def heads(projected):
            return projected.view(batch, length, -1, self.config.head_dim).transpose(1, 2)

        group = self.config.query_heads // self.config.kv_heads
        q = rotate(heads(self.attn_q(x)), table)
        k = rotate(heads(self.attn_k(x)), table).repeat_interleave(group, dim=1)
        v = heads(self.attn_v(x)).repeat_interleave(group, dim=1)
        mixed = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=visible, is_causal=visible is None
        )
        return self.attn_output(mixed.transpose(1, 2).flatten(-2))

    def feed_forward(self, x):
        return self.ffn_down(functional.silu(self.ffn_gate(x)) * self.ffn_up(x))


class Model(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.token_embd = nn.Embedding(config.vocabulary, config.hidden)
        self.blk = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.output_norm = RmsNorm(config.hidden, config.rms_eps)
        self.output = nn.Linear(config.hidden, config.vocabulary, bias=False)
        # The usual 0.02 suits a width of thousands: at 64 the logits of the attention start so flat
        # that copying does not emerge within 9,000 batches, and with this within 200.
        width = 0.5 / math.sqrt(config.hidden)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                # What adds to the residual stream starts smaller, the more layers add to it.
                adds = name.endswith(("attn_output.weight", "ffn_down.weight"))
                scale = 1 / math.sqrt(2 * config.layers) if adds else 1
                nn.init.normal_(parameter, std=width * scale)

    def forward(self, tokens, visible=None):
        """Logits [batch, length, vocabulary] of tokens [batch, length].

        `visible` [batch, 1, length, length] says which query (row) sees which key (column); None
        is causal attention.
        """
        table = rotary_table(self.config, tokens.shape[1])
        x = self.token_embd(tokens)
        for block in self.blk:
            x = block(x, table, visible)
        return self.output(self.output_norm(x))
