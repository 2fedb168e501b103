// SPDX-License-Identifier: Apache-2.0
#include "runtime/guard.h"

#include <gtest/gtest.h>

#include <format>
#include <string>
#include <vector>

#include "gpu/test_support.h"
#include "gpu/transfer.h"
#include "runtime/access.h"
#include "runtime/test_support.h"

namespace wgk {
namespace {

constexpr std::uint32_t kWidth = 256;

class Guards : public testing::RuntimeTest {
 protected:
  gpu::Context context = context_of(testing::shared_runtime());
  Result<std::unique_ptr<GuardBands>> place() const {
    auto prepared = gpu::Prepared::make(context, gpu::testing::scale_plan(63, 2.0F));
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    return GuardBands::place(*prepared, std::vector<gpu::Slice>(2), kWidth, false);
  }
};

// One byte changes between the run and the check, as a kernel that leaves its tensor would do.
TEST_F(Guards, SeeEveryByteThatChanges) {
  for (const std::size_t tensor : {0, 1}) {
    for (const bool before : {true, false}) {
      for (const std::uint64_t away : {1U, 2U, 77U, kWidth}) {
        auto guards = place();
        ASSERT_TRUE(guards) << guards.error().to_string();
        ASSERT_TRUE((*guards)->bound()->submit());
        auto status = (*guards)->check();
        ASSERT_TRUE(status) << status.error().to_string();
        const gpu::Slice& slice = (*guards)->bound()->tensors()[tensor];
        const std::uint64_t at =
            before ? slice.offset - away : slice.offset + slice.size + away - 1;
        const std::byte byte{0x5a};
        ASSERT_TRUE(gpu::write(context, {slice.buffer, at, 1}, {&byte, 1}));
        status = (*guards)->check();
        ASSERT_FALSE(status) << "tensor " << tensor << ", " << away << " bytes away";
        EXPECT_EQ(status.error().code, "device/guard");
        EXPECT_TRUE(testing::contains(
            status.error().message,
            std::format("a byte {} tensor '{}' was overwritten, {} bytes away",
                        before ? "before" : "behind", tensor == 0 ? "x" : "y", away)));
      }
    }
  }
}

TEST_F(Guards, LeaveTheTensorItselfToTheKernel) {
  auto guards = place();
  ASSERT_TRUE(guards) << guards.error().to_string();
  const gpu::Slice& slice = (*guards)->bound()->tensors()[1];
  ASSERT_TRUE(gpu::write(context, slice, std::vector<std::byte>(slice.size, std::byte{1})));
  EXPECT_TRUE((*guards)->check());
}

}  // namespace
}  // namespace wgk
