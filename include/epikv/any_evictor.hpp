// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

#include "epikv/evictor.hpp"

namespace epikv::inline v0 {
namespace detail {

// The verbs of every evictor. The table of wanted layers sits in the base, so that the layers no
// score wants cost no virtual call.
class evictor_interface {
 public:
  evictor_interface() = default;
  evictor_interface(const evictor_interface&) = delete;
  evictor_interface& operator=(const evictor_interface&) = delete;
  virtual ~evictor_interface() = default;

  [[nodiscard]] bool skips(std::int32_t layer) const noexcept {
    return layer >= 0 && static_cast<std::size_t>(layer) < wants_.size() &&
           wants_[static_cast<std::size_t>(layer)].empty();
  }

  virtual const model_shape& shape() const noexcept = 0;
  virtual const evictor_options& options() const noexcept = 0;
  virtual signal_set wants(std::int32_t layer) const noexcept = 0;
  virtual row_cadence cadence(signal_id id) const noexcept = 0;
  virtual status add(sequence_id sequence, const sequence_options& wanted) noexcept = 0;
  virtual status remove(sequence_id sequence) noexcept = 0;
  virtual status reset(sequence_id sequence) noexcept = 0;
  virtual status protect(sequence_id sequence, position_range range) noexcept = 0;
  virtual status clear_protection(sequence_id sequence) noexcept = 0;
  virtual status begin_step(std::span<const step_sequence> batch) noexcept = 0;
  virtual status observe(std::int32_t layer, const layer_signals& given) noexcept = 0;
  virtual result<selection> select() noexcept = 0;
  virtual status commit(const selection& applied) noexcept = 0;
  virtual status commit(const sequence_selection& applied) noexcept = 0;
  virtual result<std::int32_t> tokens_until_due(sequence_id sequence) const noexcept = 0;
  virtual result<std::int32_t> length(sequence_id sequence, std::int32_t group) const noexcept = 0;
  virtual result<std::span<const position>> positions(sequence_id sequence,
                                                      std::int32_t group) const noexcept = 0;
  virtual std::string_view score_part(std::size_t i) const noexcept = 0;
  virtual result<std::int32_t> scores(sequence_id sequence, std::int32_t group,
                                      std::string_view part, std::span<float> out) noexcept = 0;
  virtual result<sequence_statistics> statistics(sequence_id sequence) const noexcept = 0;
  virtual evictor_statistics statistics() const noexcept = 0;

 protected:
  std::span<const signal_set> wants_;  // [layers]
};

template <class S, class P, class B>
class evictor_holder final : public evictor_interface {
 public:
  evictor_holder(const model_shape& shape, S score, P policy, B backend,
                 const evictor_options& options) noexcept
      : held_{shape, std::move(score), std::move(policy), std::move(backend), options} {
    wants_ = held_.wants_table();
  }
  [[nodiscard]] status check() const noexcept { return held_.check(); }

  const model_shape& shape() const noexcept override { return held_.shape(); }
  const evictor_options& options() const noexcept override { return held_.options(); }
  signal_set wants(std::int32_t layer) const noexcept override { return held_.wants(layer); }
  row_cadence cadence(signal_id id) const noexcept override { return held_.cadence(id); }
  status add(sequence_id sequence, const sequence_options& wanted) noexcept override {
    return held_.add(sequence, wanted);
  }
  status remove(sequence_id sequence) noexcept override { return held_.remove(sequence); }
  status reset(sequence_id sequence) noexcept override { return held_.reset(sequence); }
  status protect(sequence_id sequence, position_range range) noexcept override {
    return held_.protect(sequence, range);
  }
  status clear_protection(sequence_id sequence) noexcept override {
    return held_.clear_protection(sequence);
  }
  status begin_step(std::span<const step_sequence> batch) noexcept override {
    return held_.begin_step(batch);
  }
  status observe(std::int32_t layer, const layer_signals& given) noexcept override {
    return held_.observe(layer, given);
  }
  result<selection> select() noexcept override { return held_.select(); }
  status commit(const selection& applied) noexcept override { return held_.commit(applied); }
  status commit(const sequence_selection& applied) noexcept override {
    return held_.commit(applied);
  }
  result<std::int32_t> tokens_until_due(sequence_id sequence) const noexcept override {
    return held_.tokens_until_due(sequence);
  }
  result<std::int32_t> length(sequence_id sequence, std::int32_t group) const noexcept override {
    return held_.length(sequence, group);
  }
  result<std::span<const position>> positions(sequence_id sequence,
                                              std::int32_t group) const noexcept override {
    return held_.positions(sequence, group);
  }
  result<std::int32_t> scores(sequence_id sequence, std::int32_t group, std::string_view part,
                              std::span<float> out) noexcept override {
    return held_.scores(sequence, group, part, out);
  }
  std::string_view score_part(std::size_t i) const noexcept override { return held_.score_part(i); }
  result<sequence_statistics> statistics(sequence_id sequence) const noexcept override {
    return held_.statistics(sequence);
  }
  evictor_statistics statistics() const noexcept override { return held_.statistics(); }

 private:
  evictor<S, P, B> held_;
};

}  // namespace detail

/// Any evictor behind one movable handle: what make_evictor() returns. Same verbs, same contracts
/// and same results as `evictor`; each verb costs one virtual call, observe() on an unwanted layer
/// none. A moved-from handle may only be assigned to or destroyed.
class any_evictor {
 public:
  explicit any_evictor(std::unique_ptr<detail::evictor_interface> held) noexcept
      : held_{std::move(held)} {}

  [[nodiscard]] const model_shape& shape() const noexcept { return held_->shape(); }
  [[nodiscard]] const evictor_options& options() const noexcept { return held_->options(); }
  [[nodiscard]] signal_set wants(std::int32_t layer) const noexcept { return held_->wants(layer); }
  [[nodiscard]] row_cadence cadence(signal_id id) const noexcept { return held_->cadence(id); }

  [[nodiscard]] status add(sequence_id sequence, std::int32_t prompt_length) noexcept {
    return held_->add(sequence, {.prompt_length = prompt_length});
  }
  [[nodiscard]] status add(sequence_id sequence, const sequence_options& wanted) noexcept {
    return held_->add(sequence, wanted);
  }
  [[nodiscard]] status remove(sequence_id sequence) noexcept { return held_->remove(sequence); }
  [[nodiscard]] status reset(sequence_id sequence) noexcept { return held_->reset(sequence); }
  [[nodiscard]] status protect(sequence_id sequence, position_range range) noexcept {
    return held_->protect(sequence, range);
  }
  [[nodiscard]] status clear_protection(sequence_id sequence) noexcept {
    return held_->clear_protection(sequence);
  }

  [[nodiscard]] status begin_step(std::span<const step_sequence> batch) noexcept {
    return held_->begin_step(batch);
  }
  [[nodiscard]] status begin_step(std::initializer_list<step_sequence> batch) noexcept {
    return held_->begin_step(std::span<const step_sequence>{batch.begin(), batch.size()});
  }
  [[nodiscard]] status begin_step(sequence_id sequence, std::int32_t new_tokens = 1) noexcept {
    return begin_step({step_sequence{sequence, new_tokens}});
  }

  [[nodiscard]] EPIKV_ALWAYS_INLINE status observe(std::int32_t layer,
                                                   const layer_signals& given) noexcept {
    if (held_->skips(layer)) return {};
    return held_->observe(layer, given);
  }
  // Views made at the call cost nothing for a layer no score wants; see evictor::observe().
  [[nodiscard]] EPIKV_ALWAYS_INLINE status observe(std::int32_t layer,
                                                   layer_signals&& given) noexcept {
    if (held_->skips(layer)) return {};
    const layer_signals copy = given;
    return held_->observe(layer, copy);
  }
  [[nodiscard]] EPIKV_ALWAYS_INLINE status observe(std::int32_t layer, const tensor_view& hidden_in,
                                                   const tensor_view& hidden_out) noexcept {
    if (held_->skips(layer)) return {};
    return held_->observe(layer, {.hidden_in = hidden_in, .hidden_out = hidden_out});
  }

  [[nodiscard]] result<selection> select() noexcept { return held_->select(); }
  [[nodiscard]] status commit(const selection& applied) noexcept { return held_->commit(applied); }
  [[nodiscard]] status commit(const sequence_selection& applied) noexcept {
    return held_->commit(applied);
  }

  [[nodiscard]] result<std::int32_t> tokens_until_due(sequence_id sequence) const noexcept {
    return held_->tokens_until_due(sequence);
  }
  [[nodiscard]] result<std::int32_t> length(sequence_id sequence,
                                            std::int32_t group = 0) const noexcept {
    return held_->length(sequence, group);
  }
  [[nodiscard]] result<std::span<const position>> positions(sequence_id sequence,
                                                            std::int32_t group = 0) const noexcept {
    return held_->positions(sequence, group);
  }
  [[nodiscard]] result<std::int32_t> scores(sequence_id sequence, std::int32_t group,
                                            std::string_view part, std::span<float> out) noexcept {
    return held_->scores(sequence, group, part, out);
  }
  [[nodiscard]] std::string_view score_part(std::size_t i) const noexcept {
    return held_->score_part(i);
  }
  [[nodiscard]] result<sequence_statistics> statistics(sequence_id sequence) const noexcept {
    return held_->statistics(sequence);
  }
  [[nodiscard]] evictor_statistics statistics() const noexcept { return held_->statistics(); }

 private:
  std::unique_ptr<detail::evictor_interface> held_;
};

}  // namespace epikv::inline v0
