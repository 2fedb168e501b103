// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory.h"

#include <gtest/gtest.h>

#include "gpu/test_support.h"

namespace wgk::gpu {
namespace {

using testing::contains;

class MemoryTest : public testing::DeviceTest {
 protected:
  static Context fresh(Memory::Limits limits = {}) {
    return Context::make(testing::shared_context().device, limits);
  }
};

TEST_F(MemoryTest, ReusesBuffersOfTheSameSizeAndUsageOnly) {
  const Context context = fresh();
  Memory& memory = *context.memory;
  auto first = memory.allocate(1024, kTensorUsage, "a");
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->dirty);
  const std::uint64_t id = first->buffer->id();
  first->buffer.reset();
  EXPECT_EQ(memory.stats().pooled_bytes, 1024);
  EXPECT_NE(memory.allocate(1020, kTensorUsage, "b")->buffer->id(), id);
  EXPECT_NE(
      memory.allocate(1024, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst, "c")->buffer->id(),
      id);
  auto again = memory.allocate(1024, kTensorUsage, "d");
  EXPECT_EQ(again->buffer->id(), id);
  EXPECT_TRUE(again->dirty);
  again->buffer->never_reuse();
  again->buffer.reset();
  EXPECT_NE(memory.allocate(1024, kTensorUsage, "e")->buffer->id(), id);
}

TEST_F(MemoryTest, HonoursTheCapAndMakesRoomFromThePool) {
  const Context context = fresh({.cap = 10000, .pool = 10000});
  Memory& memory = *context.memory;
  auto keep = memory.allocate(6000, kTensorUsage, "keep");
  ASSERT_TRUE(keep);
  {
    auto temporary = memory.allocate(3000, kTensorUsage, "temporary");
  }
  EXPECT_EQ(memory.stats().pooled_bytes, 3000);
  auto fits = memory.allocate(4000, kTensorUsage, "fits");  // only after the pool is emptied
  ASSERT_TRUE(fits) << fits.error().to_string();
  EXPECT_EQ(memory.stats().pooled_bytes, 0);
  EXPECT_EQ(memory.stats().live_bytes, 10000);
  auto too_much = memory.allocate(4, kTensorUsage, "drop");
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, "limit/memory");
  EXPECT_TRUE(contains(too_much.error().message, "10000"));
  EXPECT_EQ(memory.stats().live_bytes, 10000);
  EXPECT_EQ(memory.stats().peak_bytes, 10000);
}

TEST_F(MemoryTest, TrimsAndBoundsThePool) {
  const Context context = fresh({.pool = 5000});
  Memory& memory = *context.memory;
  for (std::uint64_t size = 1000; size < 1100; size += 4) {
    auto buffer = memory.allocate(size, kTensorUsage, "x");
    buffer->buffer.reset();
    EXPECT_LE(memory.stats().pooled_bytes, 5000);
  }
  EXPECT_GT(memory.stats().pooled_bytes, 3000);
  const auto pooled = memory.stats().pooled_bytes;
  EXPECT_EQ(memory.trim(), pooled);
  EXPECT_EQ(memory.stats().pooled_buffers, 0);
  EXPECT_EQ(memory.stats().live_bytes, 0);
}

TEST_F(MemoryTest, RefusesBuffersLargerThanTheDeviceAllows) {
  const Context context = fresh();
  auto huge =
      context.memory->allocate(context.device->limits().maxBufferSize + 4, kTensorUsage, "huge");
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, "limit/buffer");
  EXPECT_TRUE(
      contains(huge.error().message, std::to_string(context.device->limits().maxBufferSize)));
}

TEST_F(MemoryTest, BorrowedBuffersKeepOneIdentityAndAreNeverPooled) {
  const Context context = fresh();
  auto own = context.memory->allocate(64, kTensorUsage, "own");
  auto first = context.memory->borrow(own->buffer->handle());
  auto second = context.memory->borrow(own->buffer->handle());
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->id(), (*second)->id());
  EXPECT_EQ((*first)->size(), 64);
  first->reset();
  second->reset();
  EXPECT_EQ(context.memory->stats().pooled_bytes, 0);
  EXPECT_FALSE(context.memory->borrow(nullptr));
}

}  // namespace
}  // namespace wgk::gpu
