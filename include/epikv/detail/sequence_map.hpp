// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <span>

#include "epikv/detail/array.hpp"
#include "epikv/index.hpp"

namespace epikv::inline v0::detail {

// The sequences of an evictor by id: owns the records, finds one in O(log n), inserts in O(n).
template <class Record>
class sequence_map {
 public:
  sequence_map() noexcept = default;
  sequence_map(const sequence_map&) = delete;
  sequence_map& operator=(const sequence_map&) = delete;
  ~sequence_map() {
    for (Record* record : records()) delete record;
  }

  [[nodiscard]] Record* find(sequence_id id) noexcept {
    Record** const at = lower_bound(id);
    return at != end() && (*at)->id == id ? *at : nullptr;
  }
  [[nodiscard]] const Record* find(sequence_id id) const noexcept {
    return const_cast<sequence_map*>(this)->find(id);
  }

  // Room for one more, so that the insert() that follows cannot fail.
  [[nodiscard]] status reserve_one() noexcept {
    return entries_.grow_amortised(count_ + 1, "sequences");
  }
  void insert(std::unique_ptr<Record> record) noexcept {
    Record** const at = lower_bound(record->id);
    std::move_backward(at, end(), end() + 1);
    *at = record.release();
    ++count_;
  }
  void erase(sequence_id id) noexcept {
    Record** const at = lower_bound(id);
    delete *at;
    std::move(at + 1, end(), at);
    --count_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::span<Record* const> records() const noexcept {
    return {entries_.data(), count_};
  }

 private:
  Record** end() noexcept { return entries_.data() + count_; }
  Record** lower_bound(sequence_id id) noexcept {
    return std::lower_bound(entries_.data(), end(), id,
                            [](const Record* r, sequence_id wanted) { return r->id < wanted; });
  }

  host_array<Record*> entries_;  // ascending by id
  std::size_t count_ = 0;
};

}  // namespace epikv::inline v0::detail
