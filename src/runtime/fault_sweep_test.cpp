// SPDX-License-Identifier: Apache-2.0
// Every call of the whole facade, on a device of its own and on a caller's, is made to fail once:
// each time an error comes back, nothing is left behind, and what is still there works or says that
// it is lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "gpu/count_support.h"
#include "gpu/fault_support.h"
#include "gpu/null_host_support.h"
#include "runtime/access.h"
#include "runtime/test_support.h"

namespace wgk {
namespace {

using gpu::testing::faults;
using gpu::testing::Live;
using gpu::testing::NullHost;
using testing::numbers;
using testing::scale_package;

const gpu::Procs& faulty() {
  static const gpu::Procs kProcs = gpu::testing::faulty_procs(gpu::testing::counting_procs());
  return kProcs;
}

// One way through the facade. What it has made so far stays here, as in a program that carries on
// after an error.
struct Way {
  NullHost* host = nullptr;  // adopted where given
  std::string cache;
  std::optional<Runtime> runtime;
  Kernel scale, sum, split;
  bool given_up = false;  // the fault hit a call that nobody waited for
  std::vector<float> x = numbers(100);

  Signature signature(std::int64_t size = 100) const {
    return {.inputs = {{.name = "x", .shape = {size}}}, .args = {{"factor", 2}}};
  }
  static CallOptions by(double factor, bool read_back = true) {
    return {.args = {{"factor", factor}}, .read_back = read_back};
  }
  Status open() {
    if (host != nullptr) {
      AdoptOptions options;
      options.device = host->device;
      options.timed_wait = true;
      options.cache_folder = cache;
      WGK_ASSIGN(runtime, adopt_with(options, faulty()));
    } else {
      RuntimeOptions options;
      options.adapter.backend = "null";
      options.cache_folder = cache;
      WGK_ASSIGN(runtime, create_with(options, faulty()));
    }
    WGK_ASSIGN(scale, runtime->load(scale_package()));
    WGK_ASSIGN(sum, runtime->load(testing::accumulate_package(false)));
    WGK_ASSIGN(split, runtime->load(testing::accumulate_package(true)));
    return {};
  }
  Status prewarm() {
    const std::vector<Prewarm> calls = {
        {scale, signature()},
        {sum, {.inputs = {{.name = "x", .shape = {8}}, {.name = "y", .shape = {8}}}}}};
    WGK_ASSIGN(auto ready, runtime->prewarm(calls));
    WGK_TRY(ready.wait());
    WGK_ASSIGN(auto remembered, runtime->prewarm_remembered());
    WGK_ASSIGN(const std::size_t count, remembered.wait());
    // What does not compile any more is passed over; here everything does.
    if (count < 2) return failure("device/compile", "a remembered text was passed over");
    return {};
  }
  Status calls() {
    for (int i = 0; i < 2; ++i) WGK_TRY(scale.call({{"x", HostTensor(x, {100})}}, by(2)));
    const std::vector<float> eight = numbers(8);
    WGK_TRY(split.call({{"x", HostTensor(eight, {8})}, {"y", HostTensor(eight, {8})}},
                       {.read_back = true}));
    WGK_ASSIGN(auto dropped, scale.start({{"x", HostTensor(x, {100})}}, by(3)));
    dropped.cancel();
    given_up = !faults().failed.empty();  // what else failed before was returned
    WGK_ASSIGN(auto future, scale.start({{"x", HostTensor(x, {100})}}, by(4)));
    WGK_TRY(future.wait());
    return {};
  }
  Status transfers() {
    WGK_ASSIGN(const Tensor tensor, runtime->upload(HostTensor(x, {100})));
    WGK_ASSIGN(const Tensor bytes, runtime->empty(DType::f16, {7}));
    const std::vector<std::uint16_t> bits = {1, 2, 3};
    WGK_TRY(bytes.upload(HostTensor(std::as_bytes(std::span(bits)), DType::f16, {3}), 1));
    WGK_TRY(tensor.download(1, 5));
    return {};
  }
  // Into a pass and an encoder of the caller's; what the caller does itself never fails.
  Status record() {
    WGK_ASSIGN(const Tensor tensor, runtime->upload(HostTensor(x, {100})));
    WGK_ASSIGN(const Prepared prepared, scale.prepare(signature()));
    WGK_ASSIGN(const auto outputs, prepared.make_outputs());
    WGK_ASSIGN(Bound bound, prepared.bind({{"x", tensor}, outputs[0]}));
    WGK_ASSIGN(const Tensor big, runtime->empty(DType::f32, {300}));
    const auto wrap = [&](std::uint64_t offset) {
      return Tensor::wrap(*runtime, big.buffer(), offset, 400, {100}, DType::f32);
    };
    WGK_ASSIGN(const Tensor from, wrap(4));
    WGK_ASSIGN(const Tensor to, wrap(516));
    WGK_ASSIGN(const Bound staged, prepared.bind({{"x", from}, {"y", to}}, {.staging = true}));
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(runtime->device(), nullptr);
    WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
    auto status = bound.record(pass);
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
    if (status) status = staged.record(encoder);
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuCommandEncoderRelease(encoder);
    if (status) wgpuQueueSubmit(runtime->queue(), 1, &commands);
    wgpuCommandBufferRelease(commands);
    WGK_TRY(std::move(status));
    WGK_TRY(bound.update({{"factor", 5}}));
    WGK_ASSIGN(auto submission, bound.run());
    WGK_TRY(submission.wait());
    WGK_TRY(bound.run_and_read());
    WGK_TRY(staged.run_and_read());
    CallOptions call = by(3, false);
    call.staging = true;
    call.outputs = {Output("y", to)};
    WGK_TRY(scale.call({{"x", from}}, call));
    return {};
  }
  Status arena() {
    std::vector<Prepared> prepared(1);
    WGK_ASSIGN(prepared[0],
               sum.prepare({.inputs = {{.name = "x", .shape = {8}}, {.name = "y", .shape = {8}}}}));
    WGK_ASSIGN(const Arena shared, runtime->make_arena(prepared));
    const std::vector<float> eight = numbers(8);
    WGK_ASSIGN(const Tensor a, runtime->upload(HostTensor(eight, {8})));
    WGK_ASSIGN(const Tensor b, runtime->upload(HostTensor(eight, {8})));
    WGK_ASSIGN(const Bound one, prepared[0].bind({{"x", a}, {"y", b}}, {.arena = shared}));
    WGK_ASSIGN(const Bound own, prepared[0].bind({{"x", a}, {"y", b}}, {.own_scratch = true}));
    WGK_TRY(one.submit());
    WGK_ASSIGN(auto submission, own.run());
    std::optional<Status> heard;
    submission.then([&](Status status) { heard = std::move(status); });
    for (int i = 0; i < 1000 && !heard; ++i) runtime->poll();
    return heard ? *heard : failure("test/callback", "the callback never came");
  }
  Status all() {
    WGK_TRY(open());
    WGK_TRY(prewarm());
    WGK_TRY(calls());
    WGK_TRY(transfers());
    WGK_TRY(record());
    WGK_TRY(arena());
    runtime->trim();  // looks at abandoned waits, too
    given_up = given_up || !faults().failed.empty();
    if (host == nullptr) {
      WGK_TRY(runtime->rebuild());
      WGK_TRY(scale.call({{"x", HostTensor(x, {100})}}, by(2)));
    }
    return runtime->wait_idle();
  }
  // After an error: works, or is lost.
  Status later() {
    if (!runtime || !scale.impl()) return {};
    auto result = scale.call({{"x", HostTensor(x, {100})}}, by(2));
    if (result || result.error().code == "device/lost") return {};
    return std::unexpected(std::move(result.error()));
  }
};

class FaultSweep : public ::testing::Test {
 protected:
  std::string cache =
      (std::filesystem::temp_directory_path() / ("wgk-sweep-" + std::to_string(::getpid())))
          .string();
  void TearDown() override {
    faults().arm(0);
    std::filesystem::remove_all(cache);
  }

  // Commands in a pass or an encoder of the caller's are the caller's: their errors come with its
  // own submission.
  static bool is_callers(std::string_view member) {
    return member.starts_with("compute_pass_") || member == "command_encoder_copy_buffer_to_buffer";
  }
  // What an adopted device can do without, and a buffer that is asked for again.
  static bool survivable(std::string_view member, int again) {
    return member == "device_get_adapter_info" || (member == "device_create_buffer" && again == 0);
  }

  // `again`: so many later calls of the same member fail too; then only buffers, which are asked
  // for twice.
  void sweep(NullHost* host, int again, std::set<std::string>& failed) {
    static_cast<void>(faulty());
    std::filesystem::remove_all(cache);
    faults().arm(0);
    std::vector<std::string_view> members;
    faults().trace = &members;
    const Live before;
    {
      Way way{host, cache};
      if (host != nullptr) faults().device = host->device;
      const auto right = way.all();
      ASSERT_TRUE(right) << right.error().to_string();
      faults().trace = nullptr;
    }
    ASSERT_EQ(Live(), before);
    ASSERT_GT(members.size(), 300);
    for (std::uint64_t index = 1; index <= members.size(); ++index) {
      if (again > 0 && members[index - 1] != "device_create_buffer") continue;
      SCOPED_TRACE("call " + std::to_string(index));
      std::filesystem::remove_all(cache);
      const int uncaptured = host == nullptr ? 0 : host->uncaptured;
      {
        Way way{host, cache};
        faults().arm(index, again);
        if (host != nullptr) faults().device = host->device;
        const auto status = way.all();
        const std::string member = faults().failed;
        if (member.empty()) break;  // fewer calls than without a fault
        failed.insert(member);
        const bool told = host != nullptr && host->uncaptured > uncaptured && is_callers(member);
        EXPECT_TRUE(!status || survivable(member, again) || told || way.given_up)
            << member << " failed and nobody noticed";
        if (!status) {
          const std::string& code = status.error().code;
          EXPECT_TRUE(code.starts_with("device/") || code == "usage/device")
              << member << ": " << status.error().to_string();
        }
        faults().arm(0);
        if (host != nullptr) faults().device = host->device;
        const auto later = way.later();
        EXPECT_TRUE(later) << "after " << member << ": " << later.error().to_string();
      }
      EXPECT_EQ(Live(), before) << Live().total() - before.total() << " objects are left";
      if (HasFailure()) break;
    }
  }
};

TEST_F(FaultSweep, OnADeviceOfItsOwn) {
  std::set<std::string> failed;
  sweep(nullptr, 0, failed);
  EXPECT_GT(failed.size(), 24);
}

TEST_F(FaultSweep, OnACallersDevice) {
  NullHost host;
  std::set<std::string> failed;
  sweep(&host, 0, failed);
  EXPECT_GT(failed.size(), 22);
}

// The second try after the pool was emptied fails as well: that is an error.
TEST_F(FaultSweep, TwoFailuresInARow) {
  NullHost host;
  std::set<std::string> failed;
  sweep(&host, 1, failed);
  EXPECT_TRUE(failed.contains("device_create_buffer"));
}

}  // namespace
}  // namespace wgk
