// SPDX-License-Identifier: Apache-2.0
// Which device to use and what it is: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace wgk {

// Safe: Dawn's validation and robust access stay on. Trusted: both are off, for packages whose
// bytes are trusted. Fixed when a device is made; one device per mode.
enum class Mode : std::uint8_t { kSafe, kTrusted };
std::string_view name(Mode mode);  // "safe" or "trusted"

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };
// Gets what happens inside, one call at a time from any thread; what it throws is dropped, what it
// does with the runtime not logged. No lock is held, but in the WebGPU library's own messages what
// is being compiled: there it must not ask for that, nor wait for a thread that does.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

// One way to reach one GPU.
struct AdapterDescription {
  std::size_t index = 0;     // what `device: "0"` selects
  std::string name;          // "NVIDIA H200"
  std::string vendor;        // lower-case, as WebGPU reports it
  std::string architecture;  // lower-case, may be empty
  std::string driver;        // driver name and version
  std::string
      backend;       // "vulkan", "metal", "d3d12", "d3d11", "opengl", "opengles", "null", "webgpu"
  std::string type;  // "discrete", "integrated", "cpu", "unknown"
  std::uint32_t vendor_id = 0, device_id = 0;  // PCI ids where there are any
  bool software = false;                       // runs on the CPU
};

// How to choose an adapter. Empty fields leave the choice open.
struct AdapterChoice {
  // An index, part of the adapter's name (any case), or "vendor:device" ids in hexadecimal; empty:
  // WGK_ADAPTER, else the first that runs on hardware, else the first software adapter.
  std::string device;
  // A back end's name; empty: WGK_BACKEND, else any but "null".
  std::string backend;
  // False: never fall back to a software adapter that was not asked for.
  bool allow_software = true;
};

}  // namespace wgk
