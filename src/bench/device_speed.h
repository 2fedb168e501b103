// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace wgk::bench {

// What the device does at best, measured once per run. Rates in bytes/s, times in seconds.
struct DeviceSpeed {
  double copy_bytes_per_second = 0;       // read + write of large buffers
  double empty_dispatch_seconds = 0;      // independent, no bindings
  double dependent_dispatch_seconds = 0;  // each waits for the one before
  bool clock_held = true;                 // during each of the three
};

}  // namespace wgk::bench
