# SPDX-License-Identifier: MIT
"""Writes trained weights as a GGUF file of architecture llama.

    python export_gguf.py ledger.pt ledger.gguf

Matrices are stored as float16, norms as float32. The vocabulary has one character per token; the
space is stored as U+2581, as llama tokenizers do, and the newline ends a text. The same weights
give the same bytes.
"""

import argparse

import gguf
import numpy as np
import torch

import task
from model import Config

UNKNOWN = 0


def add_metadata(writer: gguf.GGUFWriter, config: Config) -> None:
    writer.add_name("ledger")
    writer.add_license("MIT")
    writer.add_context_length(config.context)
    writer.add_embedding_length(config.hidden)
    writer.add_block_count(config.layers)
    writer.add_feed_forward_length(config.feed_forward)
    writer.add_head_count(config.query_heads)
    writer.add_head_count_kv(config.kv_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_base)
    writer.add_vocab_size(config.vocabulary)


def add_tokenizer(writer: gguf.GGUFWriter) -> None:
    pieces = ["<unk>"] + [c.replace(" ", "\u2581") for c in task.CHARACTERS]
    types = [gguf.TokenType.UNKNOWN] + [gguf.TokenType.NORMAL] * len(task.CHARACTERS)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([0.0] * len(pieces))
    writer.add_token_types([int(kind) for kind in types])
    writer.add_unk_token_id(UNKNOWN)
    writer.add_bos_token_id(UNKNOWN)  # never added, but readers want one
    writer.add_eos_token_id(task.TOKEN["\n"])
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)


def tensor_names(config: Config) -> list:
    """The tensors in the order of the file. The model's parameters have the same names."""
    block = "attn_norm ffn_norm attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down".split()
    names = ["token_embd", "output_norm", "output"]
    names += [f"blk.{layer}.{part}" for layer in range(config.layers) for part in block]
    return [f"{name}.weight" for name in names]


def export(state: dict, path: str, config: Config) -> None:
    names = tensor_names(config)
    if set(names) != set(state):
        raise ValueError(f"not weights of this model: {sorted(set(names) ^ set(state))}")
    writer = gguf.GGUFWriter(path, "llama")
    add_metadata(writer, config)
    add_tokenizer(writer)
    for name in names:
        values = state[name].numpy()
        writer.add_tensor(name, values.astype(np.float16 if values.ndim > 1 else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", help="what train.py wrote")
    parser.add_argument("out", help="the GGUF file to write")
    arguments = parser.parse_args()
    state = torch.load(arguments.weights, map_location="cpu", weights_only=True)
    export(state, arguments.out, Config(task.VOCABULARY))


if __name__ == "__main__":
    main()
