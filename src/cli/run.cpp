// SPDX-License-Identifier: Apache-2.0
// wgk run: one call, on tensors from files.
#include <algorithm>
#include <cmath>
#include <format>

#include "base/number.h"
#include "base/try.h"
#include "cli/device_flags.h"
#include "cli/limit_flags.h"
#include "cli/request_flags.h"
#include "cli/session.h"
#include "io/array_file.h"
#include "io/file_set.h"
#include "package/case_data.h"
#include "reference/oracle.h"
#include "store/open.h"
#include "verify/compare.h"
#include "verify/expected.h"
#include "verify/runtime_engine.h"

namespace wgk::cli {
namespace {

struct RunFlags {
  RequestFlags request;
  DeviceFlags device;
};

struct Done {
  std::string op_id, device, variant;
  CallTiming first, again;  // the first call compiles
  verify::Arrays outputs;
  std::optional<verify::Difference> error;  // absolute, over all outputs; nothing without an oracle
  std::string error_output;
};

void note_timing(const Session& session, std::string_view which, const CallTiming& timing) {
  if (!session.verbose) return;
  session.note(std::string(which) + ": plan " + time_text(timing.plan) + ", prepare " +
               time_text(timing.prepare) + ", upload " + time_text(timing.upload) + ", submit " +
               time_text(timing.submit) + ", wait " + time_text(timing.wait) + ", total " +
               time_text(timing.total));
}

// Absolute differences: a tolerance of 1 makes the multiple the difference itself.
Status compare_with_reference(const package::Package& package, const verify::Call& call,
                              Done& done) {
  if (reference::find_oracle(package.manifest.op_id()) == nullptr) return {};
  WGK_ASSIGN(const verify::Arrays wanted, verify::ask_oracle(package, call));
  const package::Expectation absolute{.tolerance = {.abs = 1, .rel = 0}};
  for (const auto& [port, got] : done.outputs) {
    const verify::Array* want = verify::find_array(wanted, port);
    if (want == nullptr || want->data.size() != got.data.size()) continue;
    const verify::Difference difference =
        verify::compare(got.dtype, got.data, want->data, absolute);
    if (done.error && difference.multiple <= done.error->multiple) continue;
    done.error = difference;
    done.error_output = port;
  }
  return {};
}

Result<Done> call_kernel(const Session& session, const RunFlags& flags, const CliRequest& request,
                         const std::shared_ptr<const package::Package>& package) {
  WGK_ASSIGN(const Runtime runtime, open_runtime(flags.device, session));
  WGK_ASSIGN(const Kernel kernel, runtime.load(Package(package), {.trust = flags.device.trusted}));
  const Inputs inputs = verify::runtime_inputs(request.call);
  const CallOptions options = verify::runtime_options(request.call);
  WGK_ASSIGN(const wgk::CallResult first, kernel.call(inputs, options));
  WGK_ASSIGN(const wgk::CallResult again, kernel.call(inputs, options));
  note_timing(session, "first call", first.timing());
  note_timing(session, "second call", again.timing());
  Done done{package->manifest.op_id(),
            device_text(runtime.describe().adapter),
            again.plan().variant,
            first.timing(),
            again.timing(),
            {},
            {},
            {}};
  WGK_ASSIGN(done.outputs, verify::host_outputs(again));
  WGK_TRY(compare_with_reference(*package, request.call, done));
  return done;
}

// All or nothing: where one file cannot be written, those that were there stay as they were.
Status write_outputs(const CliRequest& request, const Done& done) {
  io::FileSet files;
  for (const auto& [port, file] : request.files) {
    const verify::Array* array = verify::find_array(done.outputs, port);
    if (array == nullptr)
      return failure("request/unknown", "the call gave no output '" + port + "'");
    WGK_TRY(files.add(file, io::format_npy(array->dtype, array->shape, array->data)));
  }
  return files.commit();
}

std::string first_values(const verify::Array& array) {
  constexpr std::size_t kShown = 4;
  const std::size_t count = array.data.size() / host_bytes(array.dtype);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, count); ++i) {
    const double value = package::host_value(array.dtype, array.data, i);
    // Six digits are enough to look at.
    text += (text.empty() ? "" : ", ") + std::format("{:.6g}", value);
  }
  return count > kShown ? text + ", ..." : text;
}

std::string file_of(const CliRequest& request, const std::string& port) {
  const auto found =
      std::ranges::find(request.files, port, &std::pair<std::string, std::string>::first);
  return found == request.files.end() ? "-" : found->second;
}

std::string error_text(const Done& done) {
  if (!done.error) return "no reference for this operator";
  if (done.error->multiple == 0) return "0 (equal to the float64 reference, rounded)";
  const verify::Array* array = verify::find_array(done.outputs, done.error_output);
  return number_text(done.error->multiple) + " in " + done.error_output + " at " +
         verify::index_text(done.error->index, array->shape) + ": got " +
         number_text(done.error->got) + ", float64 reference " + number_text(done.error->wanted);
}

void print_text(const Session& session, const CliRequest& request, const Done& done) {
  Table outputs({"OUTPUT", "DTYPE", "SHAPE", "FILE", "FIRST VALUES"});
  for (const auto& [port, array] : done.outputs) {
    outputs.add({port, std::string(name(array.dtype)), verify::shape_text(array.shape),
                 file_of(request, port), first_values(array)});
  }
  session.print(outputs.text() + "\n");
  session.print(lines({{"package", done.op_id},
                       {"device", done.device},
                       {"variant", done.variant},
                       {"time", time_text(done.again.total) + " (first call, with compilation: " +
                                    time_text(done.first.total) + ")"},
                       {"largest error", error_text(done)}}));
}

Json to_json(const CliRequest& request, const Done& done) {
  Json outputs(Json::Array{});
  for (const auto& [port, array] : done.outputs) {
    Json shape(Json::Array(array.shape.begin(), array.shape.end()));
    Json one =
        Json::object({{"name", port}, {"dtype", name(array.dtype)}, {"shape", std::move(shape)}});
    if (const std::string file = file_of(request, port); file != "-") one.set("file", file);
    outputs.if_array()->push_back(std::move(one));
  }
  const auto timing = [](const CallTiming& t) {
    return Json::object({{"plan", t.plan},
                         {"prepare", t.prepare},
                         {"upload", t.upload},
                         {"submit", t.submit},
                         {"wait", t.wait},
                         {"total", t.total}});
  };
  Json json = Json::object({{"package", done.op_id},
                            {"device", done.device},
                            {"variant", done.variant},
                            {"outputs", std::move(outputs)},
                            {"microseconds", timing(done.again)},
                            {"firstCallMicroseconds", timing(done.first)}});
  if (done.error) {
    const double worst = done.error->multiple;
    json.set("largestError",
             Json::object({{"value", std::isfinite(worst) ? Json(worst) : Json("Infinity")},
                           {"output", done.error_output},
                           {"index", done.error->index},
                           {"got", number_text(done.error->got)},
                           {"wanted", number_text(done.error->wanted)}}));
  }
  return json;
}

int run_run(const Session& session, const RunFlags& flags) {
  const auto package = store::open(flags.request.package, load_options(session));
  if (!package) return session.fail(package.error());
  const auto request = read_request(**package, flags.request, true);
  if (!request) return session.fail(request.error());
  const auto done = call_kernel(session, flags, *request, *package);
  if (!done) return session.fail(done.error());
  if (const Status status = write_outputs(*request, *done); !status)
    return session.fail(status.error());
  if (session.json) {
    session.print_json(to_json(*request, *done));
  } else {
    print_text(session, *request, *done);
  }
  return kSuccess;
}

}  // namespace

void add_run(CLI::App& app, Session& session) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = add_command(
      app, session, "run", "Call a kernel on tensors from files",
      {"wgk run kernels/com.microsoft.SkipSimplifiedLayerNormalization --case plain_3x1_f32 "
       "--output output=y.npy",
       "wgk run kernels/com.microsoft.SkipSimplifiedLayerNormalization --input input=x.npy "
       "--input skip=s.npy --input gamma=model.safetensors:norm.weight --output "
       "output=y.npy"});
  add_request_flags(*command, flags->request);
  add_device_flags(*command, flags->device);
  add_limit_option(*command, session);
  command->add_flag("--json", session.json, "Print JSON");
  command->callback([flags, &session] {
    session.command = [flags, &session] { return run_run(session, *flags); };
  });
}

}  // namespace wgk::cli
