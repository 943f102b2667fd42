// SPDX-License-Identifier: MIT

// Replaces every form of the global operator new and delete by counting ones. The library allocates
// by the nothrow forms alone, so only those can be told to fail; the others serve the test itself.
// The cases at the end ask whether they count: the other files prove nothing if a form slips past.

#include "allocation/counting_new.hpp"

#include <doctest/doctest.h>
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::int64_t call_count = 0;
std::int64_t live_count = 0;
std::int64_t byte_count = 0;
std::int64_t aligned_count = 0;
std::int64_t fail_countdown = 0;

void* take(std::size_t size, std::size_t alignment) noexcept {
  ++call_count;
  const std::size_t bytes = (size + alignment - 1) / alignment * alignment;
  void* const block = std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes);
  if (block == nullptr) return nullptr;
  ++live_count;
  byte_count += static_cast<std::int64_t>(malloc_usable_size(block));
  if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) ++aligned_count;
  return block;
}
void* take_or_fail(std::size_t size, std::size_t alignment) noexcept {
  if (fail_countdown > 0 && --fail_countdown == 0) {
    ++call_count;
    return nullptr;
  }
  return take(size, alignment);
}
void* take_or_abort(std::size_t size, std::size_t alignment) noexcept {
  void* const block = take(size, alignment);
  if (block == nullptr) std::abort();
  return block;
}
void give(void* block, std::size_t alignment) noexcept {
  if (block == nullptr) return;
  --live_count;
  byte_count -= static_cast<std::int64_t>(malloc_usable_size(block));
  if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) --aligned_count;
  std::free(block);
}
constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
std::size_t of(std::align_val_t alignment) noexcept { return static_cast<std::size_t>(alignment); }

}  // namespace

namespace counting {
std::int64_t calls() noexcept { return call_count; }
std::int64_t live() noexcept { return live_count; }
std::int64_t live_bytes() noexcept { return byte_count; }
std::int64_t live_aligned() noexcept { return aligned_count; }
void fail_at(std::int64_t n) noexcept { fail_countdown = n; }
bool failure_pending() noexcept { return fail_countdown > 0; }
}  // namespace counting

void* operator new(std::size_t n) { return take_or_abort(n, usual); }
void* operator new[](std::size_t n) { return take_or_abort(n, usual); }
void* operator new(std::size_t n, std::align_val_t a) { return take_or_abort(n, of(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return take_or_abort(n, of(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return take_or_fail(n, usual); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return take_or_fail(n, usual);
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take_or_fail(n, of(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take_or_fail(n, of(a));
}
void operator delete(void* p) noexcept { give(p, usual); }
void operator delete[](void* p) noexcept { give(p, usual); }
void operator delete(void* p, std::size_t) noexcept { give(p, usual); }
void operator delete[](void* p, std::size_t) noexcept { give(p, usual); }
void operator delete(void* p, std::align_val_t a) noexcept { give(p, of(a)); }
void operator delete[](void* p, std::align_val_t a) noexcept { give(p, of(a)); }
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept { give(p, of(a)); }
void operator delete[](void* p, std::size_t, std::align_val_t a) noexcept { give(p, of(a)); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give(p, usual); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give(p, usual); }
void operator delete(void* p, std::align_val_t a, const std::nothrow_t&) noexcept {
  give(p, of(a));
}
void operator delete[](void* p, std::align_val_t a, const std::nothrow_t&) noexcept {
  give(p, of(a));
}

namespace {

constexpr std::align_val_t wide{64};
constexpr std::size_t size = 40;

// One form of operator new with a delete that belongs to it. Called as functions: a compiler may
// leave out new and delete expressions whose object nobody sees.
struct form {
  const char* name;
  void* (*make)();
  void (*drop)(void*);
  bool aligned;
  bool fails;
};

const form forms[] = {
    {"plain", [] { return ::operator new(size); }, [](void* p) { ::operator delete(p); }, false,
     false},
    {"plain, sized", [] { return ::operator new(size); },
     [](void* p) { ::operator delete(p, size); }, false, false},
    {"array", [] { return ::operator new[](size); }, [](void* p) { ::operator delete[](p); }, false,
     false},
    {"array, sized", [] { return ::operator new[](size); },
     [](void* p) { ::operator delete[](p, size); }, false, false},
    {"aligned", [] { return ::operator new(size, wide); },
     [](void* p) { ::operator delete(p, wide); }, true, false},
    {"aligned, sized", [] { return ::operator new(size, wide); },
     [](void* p) { ::operator delete(p, size, wide); }, true, false},
    {"aligned array", [] { return ::operator new[](size, wide); },
     [](void* p) { ::operator delete[](p, wide); }, true, false},
    {"aligned array, sized", [] { return ::operator new[](size, wide); },
     [](void* p) { ::operator delete[](p, size, wide); }, true, false},
    {"nothrow", [] { return ::operator new(size, std::nothrow); },
     [](void* p) { ::operator delete(p, std::nothrow); }, false, true},
    {"nothrow array", [] { return ::operator new[](size, std::nothrow); },
     [](void* p) { ::operator delete[](p, std::nothrow); }, false, true},
    {"aligned nothrow", [] { return ::operator new(size, wide, std::nothrow); },
     [](void* p) { ::operator delete(p, wide, std::nothrow); }, true, true},
    {"aligned nothrow array", [] { return ::operator new[](size, wide, std::nothrow); },
     [](void* p) { ::operator delete[](p, wide, std::nothrow); }, true, true},
};

}  // namespace

TEST_CASE("every form of operator new is counted and balanced by its delete") {
  for (const form& each : forms) {
    CAPTURE(each.name);
    const std::int64_t calls = counting::calls();
    const counting::holdings before;
    void* const block = each.make();
    const std::int64_t made = counting::calls() - calls;
    const counting::holdings held;
    each.drop(block);
    const counting::holdings after;
    CHECK(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % (each.aligned ? 64U : usual) == 0);
    CHECK(made == 1);
    CHECK(held.blocks == before.blocks + 1);
    CHECK(held.bytes >= before.bytes + static_cast<std::int64_t>(size));
    CHECK(held.aligned == before.aligned + (each.aligned ? 1 : 0));
    CHECK(after == before);
  }
}

TEST_CASE("of the forms that can fail, exactly the n-th call does, and is counted") {
  for (const form& each : forms) {
    if (!each.fails) continue;
    CAPTURE(each.name);
    void* blocks[4] = {};
    bool pending[4] = {};
    const std::int64_t calls = counting::calls();
    counting::fail_at(3);
    for (int i = 0; i < 4; ++i) {
      blocks[i] = each.make();
      pending[i] = counting::failure_pending();
    }
    const std::int64_t made = counting::calls() - calls;
    CHECK(made == 4);
    for (int i = 0; i < 4; ++i) {
      CAPTURE(i);
      CHECK((blocks[i] == nullptr) == (i == 2));
      CHECK(pending[i] == (i < 2));
      each.drop(blocks[i]);
    }
  }
}
