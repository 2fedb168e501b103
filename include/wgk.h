/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgkernels in C: the same words as the C++ API with wgk_ in front. C99, C++ and foreign-function
 * generators read it alike.
 *
 * Every function that can fail returns a wgk_status and, where `error` is not null, stores an error
 * object on failure that the caller frees. Handles are opaque; each has a _free function that
 * accepts null. Handles are cheap: they share what they stand for. Strings are UTF-8 and end in a
 * zero byte; strings that are given out are freed with wgk_string_free. Functions may be called
 * from any thread; one handle object must not be freed while another thread uses it. No exception
 * leaves a function; one that returns no status gives null, zero or false instead. When the host is
 * out of memory the error object may be null beside its status.
 *
 * Options, signatures and the structs that functions fill start with their size and version, which
 * their _INIT macros set: later releases add fields at their ends. A struct of another version, one
 * smaller than its first release, or one with non-zero fields that the library does not know is
 * "usage/struct"; functions fill as much of a struct as the caller has room for.
 *
 * wgk_host_tensor, wgk_tensor_form, wgk_input, wgk_output, wgk_signature_input, wgk_named_tensor,
 * wgk_tensor_desc and wgk_output_desc have neither, because they stand in arrays and behind
 * pointers of other structs, where a size per element would have to be checked at every call. They
 * are frozen: they never grow, and what a later release wants to say beside them comes as a new
 * struct with functions of its own.
 */
#ifndef WGK_H_
#define WGK_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WGK_API __declspec(dllexport)
#else
#define WGK_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define WGK_VERSION_MAJOR 0
#define WGK_VERSION_MINOR 1
#define WGK_VERSION_PATCH 0

/* The version of the library that is running: major * 1000000 + minor * 1000 + patch. */
WGK_API uint32_t wgk_version(void);

/* WebGPU's handles, as <webgpu/webgpu.h> declares them. */
struct WGPUAdapterImpl;
struct WGPUBufferImpl;
struct WGPUCommandEncoderImpl;
struct WGPUComputePassEncoderImpl;
struct WGPUDeviceDescriptor;
struct WGPUDeviceImpl;
struct WGPUInstanceImpl;
struct WGPUQueueImpl;

/* The areas of error codes. */
typedef int32_t wgk_status;
enum {
  WGK_OK = 0,
  WGK_ERROR_PACKAGE = 1,
  WGK_ERROR_TEMPLATE = 2,
  WGK_ERROR_EXPRESSION = 3,
  WGK_ERROR_REQUEST = 4,
  WGK_ERROR_SELECT = 5,
  WGK_ERROR_PLAN = 6,
  WGK_ERROR_LIMIT = 7,
  WGK_ERROR_DEVICE = 8,
  WGK_ERROR_STORE = 9,
  WGK_ERROR_IO = 10,
  WGK_ERROR_USAGE = 11,
  WGK_ERROR_INTERNAL = 12
};

typedef struct wgk_error wgk_error;
typedef struct wgk_runtime wgk_runtime;
typedef struct wgk_package wgk_package;
typedef struct wgk_kernel wgk_kernel;
typedef struct wgk_tensor wgk_tensor;
typedef struct wgk_result wgk_result;
typedef struct wgk_prepared wgk_prepared;
typedef struct wgk_bound wgk_bound;
typedef struct wgk_arena wgk_arena;
typedef struct wgk_future wgk_future;
typedef struct wgk_device_needs wgk_device_needs;
typedef struct wgk_planner wgk_planner;

/* ---- errors and strings ---- */

/* Stable text "area/reason"; one line of facts; both with context and further errors. Valid until
 * the error is freed. */
WGK_API const char* wgk_error_code(const wgk_error* error);
WGK_API const char* wgk_error_message(const wgk_error* error);
WGK_API const char* wgk_error_text(const wgk_error* error);
WGK_API void wgk_error_free(wgk_error* error);
WGK_API void wgk_string_free(char* text);

/* ---- element types ---- */

typedef int32_t wgk_dtype;
enum {
  WGK_F32 = 0,
  WGK_F16 = 1,
  WGK_I8 = 2,
  WGK_I16 = 3,
  WGK_I32 = 4,
  WGK_I64 = 5,
  WGK_U8 = 6,
  WGK_U32 = 7,
  WGK_BOOL = 8,
  WGK_DTYPE_DEFAULT = -1 /* not stated */
};

/* A dense row-major array in host memory; copied before the call that takes it returns. Frozen. */
typedef struct wgk_host_tensor {
  const void* data;
  size_t size; /* bytes */
  wgk_dtype dtype;
  const int64_t* shape;
  size_t rank;
  wgk_dtype
      array; /* dtype of the array the data came from, where it differs; else WGK_DTYPE_DEFAULT */
} wgk_host_tensor;

/* ---- runtimes ---- */

typedef int32_t wgk_mode;
enum {
  WGK_MODE_DEFAULT = 0, /* safe; wgk_runtime_adopt: whatever the device is */
  WGK_MODE_SAFE = 1,
  WGK_MODE_TRUSTED = 2
};

typedef int32_t wgk_log_level;
enum { WGK_LOG_DEBUG = 0, WGK_LOG_INFO = 1, WGK_LOG_WARNING = 2, WGK_LOG_ERROR = 3 };
typedef void (*wgk_log_callback)(wgk_log_level level, const char* message, void* user);

typedef void (*wgk_proc)(void);

/* Zero and null mean the default everywhere. */
typedef struct wgk_runtime_options {
  size_t struct_size;
  uint32_t version; /* 1 */
  uint32_t reserved;
  wgk_log_callback log;
  void* log_user;
  uint64_t timeout_ns;       /* longest wait before the device counts as lost; default 60 s */
  uint64_t memory_cap;       /* all device bytes; default: none */
  uint64_t memory_pool;      /* bytes kept for reuse; default 256 MiB; see no_memory_pool */
  const char* cache_folder;  /* compiled pipelines and rendered texts; null: none */
  const char* quirks;        /* JSON in place of the built-in table */
  wgk_proc get_proc_address; /* wgpuGetProcAddress of the caller's own library */
  bool no_memory_pool;       /* nothing is kept for reuse */
  bool no_debug_groups;
  /* wgk_runtime_create only: */
  bool no_software_adapter;
  bool no_experimental_features;
  const char* adapter; /* index, part of the name, or ids */
  const char* backend;
  wgk_mode mode; /* also wgk_runtime_adopt: what the device must be */
  /* wgk_runtime_adopt only: */
  bool timed_wait; /* the instance was made with TimedWaitAny */
  struct WGPUDeviceImpl* device;
  struct WGPUInstanceImpl* instance;
} wgk_runtime_options;

#define WGK_RUNTIME_OPTIONS_INIT \
  {sizeof(wgk_runtime_options),  \
   1,                            \
   0,                            \
   NULL,                         \
   NULL,                         \
   0,                            \
   0,                            \
   0,                            \
   NULL,                         \
   NULL,                         \
   NULL,                         \
   false,                        \
   false,                        \
   false,                        \
   false,                        \
   NULL,                         \
   NULL,                         \
   WGK_MODE_DEFAULT,             \
   false,                        \
   NULL,                         \
   NULL}

typedef struct wgk_runtime_stats {
  size_t struct_size;
  uint32_t version; /* 1 */
  uint32_t reserved;
  uint64_t live_bytes, peak_bytes, pooled_bytes;
  uint64_t live_buffers, pooled_buffers, buffers_made, buffers_reused;
  uint64_t pipelines, pipelines_built, pipeline_hits, bind_groups_made;
  uint64_t submits, waits, maps;
  uint64_t plans_made, plan_hits;
  uint64_t blobs_loaded, blobs_stored;
} wgk_runtime_stats;
#define WGK_RUNTIME_STATS_INIT \
  {sizeof(wgk_runtime_stats), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Waits of `timeout_ns`: 0 only looks, WGK_TIMEOUT_DEFAULT is the runtime's limit. A wait shorter
 * than the limit that runs out is "usage/not-ready"; nothing is lost, wait again. */
#define WGK_TIMEOUT_DEFAULT UINT64_MAX

/* A JSON list of all adapters, of one back end or (null) of all. */
WGK_API wgk_status wgk_adapters(const char* backend, char** json, wgk_error** error);
WGK_API wgk_status wgk_runtime_create(const wgk_runtime_options* options, wgk_runtime** runtime,
                                      wgk_error** error);
WGK_API wgk_status wgk_runtime_adopt(const wgk_runtime_options* options, wgk_runtime** runtime,
                                     wgk_error** error);
WGK_API void wgk_runtime_free(wgk_runtime* runtime);
WGK_API wgk_status wgk_runtime_describe(const wgk_runtime* runtime, char** json, wgk_error** error);
WGK_API struct WGPUDeviceImpl* wgk_runtime_device(const wgk_runtime* runtime);
WGK_API struct WGPUQueueImpl* wgk_runtime_queue(const wgk_runtime* runtime);
WGK_API struct WGPUInstanceImpl* wgk_runtime_instance(const wgk_runtime* runtime);
WGK_API wgk_status wgk_runtime_get_stats(const wgk_runtime* runtime, wgk_runtime_stats* stats,
                                         wgk_error** error);
WGK_API uint64_t wgk_runtime_trim(const wgk_runtime* runtime);
WGK_API void wgk_runtime_poll(const wgk_runtime* runtime);
WGK_API wgk_status wgk_runtime_wait_idle(const wgk_runtime* runtime, uint64_t timeout_ns,
                                         wgk_error** error);
/* False while the device is well; else the reason (to be freed) and how often the runtime was
 * rebuilt before. */
WGK_API bool wgk_runtime_lost(const wgk_runtime* runtime, char** reason, uint64_t* generation);
WGK_API wgk_status wgk_runtime_rebuild(const wgk_runtime* runtime, struct WGPUDeviceImpl* device,
                                       struct WGPUInstanceImpl* instance, wgk_error** error);

/* ---- packages ---- */

WGK_API wgk_status wgk_package_open(const char* place, wgk_package** package, wgk_error** error);
/* `limits`: JSON, what loading and planning may cost where that is not the default, as in
 * {"steps": 20000000}. Names: file-bytes, json-bytes, json-depth, variants, passes, steps, depth,
 * output-bytes. */
WGK_API wgk_status wgk_package_open_within(const char* place, const char* limits,
                                           wgk_package** package, wgk_error** error);
WGK_API void wgk_package_free(wgk_package* package);
/* {"opId", "origin", "digest", "inputs", "outputs", "variants"} */
WGK_API wgk_status wgk_package_info(const wgk_package* package, char** json, wgk_error** error);

typedef struct wgk_device_needs_options {
  size_t struct_size;
  uint32_t version; /* 1 */
  wgk_mode mode;
  const char* cache_folder;
  wgk_proc get_proc_address;
} wgk_device_needs_options;
#define WGK_DEVICE_NEEDS_OPTIONS_INIT \
  {sizeof(wgk_device_needs_options), 1, WGK_MODE_DEFAULT, NULL, NULL}

WGK_API wgk_status wgk_device_needs_create(const wgk_package* const* packages, size_t count,
                                           const wgk_device_needs_options* options,
                                           wgk_device_needs** needs, wgk_error** error);
/* Keep it until the device is gone. */
WGK_API void wgk_device_needs_free(wgk_device_needs* needs);
WGK_API wgk_status wgk_device_needs_list(const wgk_device_needs* needs, char** json,
                                         wgk_error** error);
WGK_API bool wgk_device_needs_wants_unsafe_apis(const wgk_device_needs* needs);
WGK_API wgk_status wgk_device_needs_add_to(wgk_device_needs* needs, struct WGPUAdapterImpl* adapter,
                                           struct WGPUDeviceDescriptor* descriptor,
                                           wgk_error** error);

/* ---- tensors ---- */

/* Frozen. */
typedef struct wgk_tensor_form {
  wgk_dtype storage; /* how the buffer holds int64: WGK_I32, WGK_U32; else WGK_DTYPE_DEFAULT */
  bool packed;       /* uint8, four to a word */
} wgk_tensor_form;

typedef struct wgk_upload_options {
  size_t struct_size;
  uint32_t version;    /* 1 */
  bool keep_host_copy; /* survives a rebuild of the runtime */
  const wgk_tensor_form* form;
} wgk_upload_options;
#define WGK_UPLOAD_OPTIONS_INIT {sizeof(wgk_upload_options), 1, false, NULL}

WGK_API wgk_status wgk_tensor_upload(const wgk_runtime* runtime, const wgk_host_tensor* data,
                                     const wgk_upload_options* options, wgk_tensor** tensor,
                                     wgk_error** error);
/* Both hold zeros: contents never pass from one owner to another. */
WGK_API wgk_status wgk_tensor_empty(const wgk_runtime* runtime, wgk_dtype dtype,
                                    const int64_t* shape, size_t rank, wgk_tensor** tensor,
                                    wgk_error** error);
WGK_API wgk_status wgk_tensor_zeros(const wgk_runtime* runtime, wgk_dtype dtype,
                                    const int64_t* shape, size_t rank, wgk_tensor** tensor,
                                    wgk_error** error);
WGK_API wgk_status wgk_tensor_wrap(const wgk_runtime* runtime, struct WGPUBufferImpl* buffer,
                                   uint64_t offset, uint64_t size, const int64_t* shape,
                                   size_t rank, wgk_dtype dtype, const wgk_tensor_form* form,
                                   wgk_tensor** tensor, wgk_error** error);
/* Another handle of the same tensor. */
WGK_API wgk_tensor* wgk_tensor_share(const wgk_tensor* tensor);
WGK_API void wgk_tensor_free(wgk_tensor* tensor);
WGK_API wgk_dtype wgk_tensor_dtype(const wgk_tensor* tensor);
WGK_API wgk_dtype wgk_tensor_storage(const wgk_tensor* tensor);
WGK_API bool wgk_tensor_packed(const wgk_tensor* tensor);
WGK_API bool wgk_tensor_borrowed(const wgk_tensor* tensor);
WGK_API size_t wgk_tensor_rank(const wgk_tensor* tensor);
/* `rank` numbers, valid as long as the handle. */
WGK_API const int64_t* wgk_tensor_shape(const wgk_tensor* tensor);
WGK_API int64_t wgk_tensor_elements(const wgk_tensor* tensor);
WGK_API uint64_t wgk_tensor_byte_length(const wgk_tensor* tensor);
WGK_API uint64_t wgk_tensor_byte_offset(const wgk_tensor* tensor);
WGK_API struct WGPUBufferImpl* wgk_tensor_buffer(const wgk_tensor* tensor);
/* Bytes of the whole tensor in host memory. */
WGK_API uint64_t wgk_tensor_host_size(const wgk_tensor* tensor);
/* Elements [first, first + count); `size` must be exactly their host bytes. */
WGK_API wgk_status wgk_tensor_download(const wgk_tensor* tensor, int64_t first, int64_t count,
                                       void* data, size_t size, wgk_error** error);
WGK_API wgk_status wgk_tensor_write(const wgk_tensor* tensor, const wgk_host_tensor* data,
                                    int64_t first, wgk_error** error);
WGK_API wgk_status wgk_tensor_reshape(const wgk_tensor* tensor, const int64_t* shape, size_t rank,
                                      wgk_tensor** reshaped, wgk_error** error);

/* ---- kernels ---- */

typedef struct wgk_load_options {
  size_t struct_size;
  uint32_t version; /* 1 */
  bool trust;       /* these very bytes may run without checks, in a trusted runtime */
} wgk_load_options;
#define WGK_LOAD_OPTIONS_INIT {sizeof(wgk_load_options), 1, false}

WGK_API wgk_status wgk_kernel_load(const wgk_runtime* runtime, const char* place,
                                   const wgk_load_options* options, wgk_kernel** kernel,
                                   wgk_error** error);
WGK_API wgk_status wgk_kernel_from_package(const wgk_runtime* runtime, const wgk_package* package,
                                           const wgk_load_options* options, wgk_kernel** kernel,
                                           wgk_error** error);
/* Of its package, as wgk_package_info. */
WGK_API wgk_status wgk_kernel_info(const wgk_kernel* kernel, char** json, wgk_error** error);
WGK_API void wgk_kernel_free(wgk_kernel* kernel);

/* A host tensor or a tensor, not both. Frozen. */
typedef struct wgk_input {
  const char* name; /* bind key or upstream name */
  const wgk_host_tensor* host;
  const wgk_tensor* tensor;
} wgk_input;

/* Frozen. */
typedef struct wgk_output {
  const char* name;
  const int64_t* shape; /* where it cannot be inferred; else null */
  size_t rank;
  wgk_dtype dtype; /* or WGK_DTYPE_DEFAULT */
  const wgk_tensor* destination;
} wgk_output;

typedef struct wgk_call_options {
  size_t struct_size;
  uint32_t version; /* 1 */
  uint32_t guard_bytes;
  const char* attrs; /* JSON objects, or null */
  const char* args;
  const char* tunables;
  const wgk_output* outputs;
  size_t output_count;
  const char* variant;
  bool read_back;
  bool staging;
  bool poison_outputs;
} wgk_call_options;
#define WGK_CALL_OPTIONS_INIT \
  {sizeof(wgk_call_options), 1, 0, NULL, NULL, NULL, NULL, 0, NULL, false, false, false}

/* Frozen. */
typedef struct wgk_signature_input {
  const char* name;
  wgk_dtype dtype;
  const int64_t* shape;
  size_t rank;
  wgk_dtype storage; /* or WGK_DTYPE_DEFAULT */
  bool packed;
  uint64_t buffer; /* equal non-zero numbers share a buffer */
} wgk_signature_input;

/* A call without tensors. */
typedef struct wgk_signature {
  size_t struct_size;
  uint32_t version; /* 1 */
  uint32_t reserved;
  const wgk_signature_input* inputs;
  size_t input_count;
  const wgk_output* outputs;
  size_t output_count;
  const char* attrs; /* JSON objects, or null */
  const char* args;
  const char* tunables;
  const char* variant;
} wgk_signature;
#define WGK_SIGNATURE_INIT {sizeof(wgk_signature), 1, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL}

typedef struct wgk_memory_needs {
  size_t struct_size;
  uint32_t version; /* 1 */
  uint32_t reserved;
  uint64_t inputs, outputs, scratch, uniforms;
  uint64_t staging, read_back; /* of whole calls */
} wgk_memory_needs;
#define WGK_MEMORY_NEEDS_INIT {sizeof(wgk_memory_needs), 1, 0, 0, 0, 0, 0, 0, 0}

WGK_API wgk_status wgk_kernel_call(const wgk_kernel* kernel, const wgk_input* inputs, size_t count,
                                   const wgk_call_options* options, wgk_result** result,
                                   wgk_error** error);
WGK_API wgk_status wgk_kernel_start(const wgk_kernel* kernel, const wgk_input* inputs, size_t count,
                                    const wgk_call_options* options, wgk_future** future,
                                    wgk_error** error);
WGK_API wgk_status wgk_kernel_plan(const wgk_kernel* kernel, const wgk_signature* signature,
                                   char** json, wgk_error** error);
/* Of this very call, without running it. */
WGK_API wgk_status wgk_kernel_plan_call(const wgk_kernel* kernel, const wgk_input* inputs,
                                        size_t count, const wgk_call_options* options, char** json,
                                        wgk_error** error);
WGK_API wgk_status wgk_kernel_explain(const wgk_kernel* kernel, const wgk_signature* signature,
                                      char** json, wgk_error** error);
WGK_API wgk_status wgk_kernel_explain_call(const wgk_kernel* kernel, const wgk_input* inputs,
                                           size_t count, const wgk_call_options* options,
                                           char** json, wgk_error** error);
WGK_API wgk_status wgk_kernel_memory(const wgk_kernel* kernel, const wgk_signature* signature,
                                     wgk_memory_needs* needs, wgk_error** error);
/* Of this very call: what it makes beside the device tensors that it is given. */
WGK_API wgk_status wgk_kernel_memory_call(const wgk_kernel* kernel, const wgk_input* inputs,
                                          size_t count, const wgk_call_options* options,
                                          wgk_memory_needs* needs, wgk_error** error);
WGK_API wgk_status wgk_kernel_prepare(const wgk_kernel* kernel, const wgk_signature* signature,
                                      wgk_prepared** prepared, wgk_error** error);
WGK_API wgk_status wgk_kernel_start_prepare(const wgk_kernel* kernel,
                                            const wgk_signature* signature, wgk_future** future,
                                            wgk_error** error);
/* kernels[i] with signatures[i]. */
WGK_API wgk_status wgk_runtime_prewarm(const wgk_runtime* runtime, const wgk_kernel* const* kernels,
                                       const wgk_signature* const* signatures, size_t count,
                                       wgk_future** future, wgk_error** error);
WGK_API wgk_status wgk_runtime_prewarm_remembered(const wgk_runtime* runtime, wgk_future** future,
                                                  wgk_error** error);
/* The same without a device; `caps` is a capability profile as JSON, or null for the default
 * device. */
WGK_API wgk_status wgk_package_plan(const wgk_package* package, const wgk_signature* signature,
                                    const char* caps, char** json, wgk_error** error);
WGK_API wgk_status wgk_package_explain(const wgk_package* package, const wgk_signature* signature,
                                       const char* caps, char** json, wgk_error** error);

/* ---- planners ---- */

typedef struct wgk_plan_options {
  size_t struct_size;
  uint32_t version;       /* 1 */
  bool no_check_bindings; /* plan also what the device would refuse to bind */
  const char* limits;     /* what one plan may cost, as in wgk_package_open_within; null: what the
                             package was opened with */
  /* Whether the text of a template is known at selection; null: all are. Kept as long as the
   * planner. */
  bool (*template_at_hand)(const char* path, void* user);
  void* template_user;
} wgk_plan_options;
#define WGK_PLAN_OPTIONS_INIT {sizeof(wgk_plan_options), 1, false, NULL, NULL, NULL}

/* A tensor as planning sees it: no buffer, no values but those of `host_data`. Frozen. */
typedef struct wgk_tensor_desc {
  const char* name; /* bind key or upstream name; null for a destination */
  const int64_t* shape;
  size_t rank;
  wgk_dtype dtype;      /* or WGK_DTYPE_DEFAULT: taken from the port */
  wgk_dtype storage;    /* on the device, where it differs; else WGK_DTYPE_DEFAULT */
  wgk_dtype host_array; /* of the array that host data came from, where it differs */
  bool packed;
  bool on_device;
  bool has_range; /* the next three say where it lies; `size` 0: exactly the tensor */
  uint64_t buffer, offset, size;
  const void* host_data; /* for narrowing and the contract's value rules; never decides what is
                            planned */
  size_t host_size;
} wgk_tensor_desc;

/* Frozen. */
typedef struct wgk_output_desc {
  const char* name;
  const int64_t* shape; /* where it cannot be inferred; else null */
  size_t rank;
  wgk_dtype dtype;                    /* or WGK_DTYPE_DEFAULT */
  const wgk_tensor_desc* destination; /* or null */
} wgk_output_desc;

typedef struct wgk_request {
  size_t struct_size;
  uint32_t version; /* 1 */
  uint32_t reserved;
  const wgk_tensor_desc* inputs;
  size_t input_count;
  const wgk_output_desc* outputs;
  size_t output_count;
  const char* attrs; /* JSON objects, or null */
  const char* args;
  const char* tunables;
  const char* variant;
} wgk_request;
#define WGK_REQUEST_INIT {sizeof(wgk_request), 1, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL}

/* The planner of one package on one device (`caps` as above): remembers what it has planned. */
WGK_API wgk_status wgk_planner_create(const wgk_package* package, const char* caps,
                                      const wgk_plan_options* options, wgk_planner** planner,
                                      wgk_error** error);
/* {"package", "caps"} */
WGK_API wgk_status wgk_planner_info(const wgk_planner* planner, char** json, wgk_error** error);
WGK_API wgk_status wgk_planner_plan(const wgk_planner* planner, const wgk_request* request,
                                    char** json, wgk_error** error);
WGK_API wgk_status wgk_planner_explain(const wgk_planner* planner, const wgk_request* request,
                                       char** json, wgk_error** error);
WGK_API void wgk_planner_free(wgk_planner* planner);

/* ---- results ---- */

typedef struct wgk_call_timing {
  size_t struct_size;
  uint32_t version; /* 1 */
  uint32_t reserved;
  double plan, prepare, upload, submit, wait, total; /* microseconds */
} wgk_call_timing;
#define WGK_CALL_TIMING_INIT {sizeof(wgk_call_timing), 1, 0, 0, 0, 0, 0, 0, 0}

WGK_API size_t wgk_result_count(const wgk_result* result);
WGK_API const char* wgk_result_name(const wgk_result* result, size_t index);
/* A new handle; null if there is no such output. */
WGK_API wgk_tensor* wgk_result_tensor(const wgk_result* result, const char* name);
WGK_API const char* wgk_result_variant(const wgk_result* result);
WGK_API wgk_status wgk_result_timing(const wgk_result* result, wgk_call_timing* timing,
                                     wgk_error** error);
WGK_API wgk_status wgk_result_plan(const wgk_result* result, char** json, wgk_error** error);
WGK_API void wgk_result_free(wgk_result* result);

/* ---- prepared and bound calls ---- */

typedef int32_t wgk_needs;
enum { WGK_NEEDS_PASS = 0, WGK_NEEDS_ENCODER = 1, WGK_NEEDS_SUBMIT = 2 };

typedef struct wgk_bind_options {
  size_t struct_size;
  uint32_t version; /* 1 */
  bool staging;
  bool own_scratch;
  const wgk_arena* arena;
} wgk_bind_options;
#define WGK_BIND_OPTIONS_INIT {sizeof(wgk_bind_options), 1, false, false, NULL}

/* Frozen. */
typedef struct wgk_named_tensor {
  const char* name;
  const wgk_tensor* tensor;
} wgk_named_tensor;

WGK_API wgk_status wgk_prepared_plan(const wgk_prepared* prepared, char** json, wgk_error** error);
WGK_API wgk_status wgk_prepared_memory(const wgk_prepared* const* sequence, size_t count,
                                       bool with_arena, wgk_memory_needs* needs, wgk_error** error);
WGK_API wgk_status wgk_prepared_make_output(const wgk_prepared* prepared, const char* name,
                                            wgk_tensor** tensor, wgk_error** error);
/* The outputs that need a tensor of their own, in the order of the plan; names are valid as long as
 * the handle. */
WGK_API size_t wgk_prepared_output_count(const wgk_prepared* prepared);
WGK_API const char* wgk_prepared_output_name(const wgk_prepared* prepared, size_t index);
/* New tensors for all of them; `count` is how many `tensors` has room for, and must be their
 * number. */
WGK_API wgk_status wgk_prepared_make_outputs(const wgk_prepared* prepared, wgk_tensor** tensors,
                                             size_t count, wgk_error** error);
WGK_API wgk_status wgk_prepared_bind(const wgk_prepared* prepared, const wgk_named_tensor* tensors,
                                     size_t count, const wgk_bind_options* options,
                                     wgk_bound** bound, wgk_error** error);
WGK_API void wgk_prepared_free(wgk_prepared* prepared);

WGK_API wgk_status wgk_arena_create(const wgk_runtime* runtime, const wgk_prepared* const* calls,
                                    size_t count, wgk_arena** arena, wgk_error** error);
WGK_API uint64_t wgk_arena_bytes(const wgk_arena* arena);
WGK_API void wgk_arena_free(wgk_arena* arena);

/* Exact bytes of a recorded sequence: every byte counts once, however many of the calls share it.
 * What any call writes counts under `outputs`. */
WGK_API wgk_status wgk_bound_memory(const wgk_bound* const* sequence, size_t count,
                                    wgk_memory_needs* needs, wgk_error** error);
WGK_API wgk_needs wgk_bound_needs(const wgk_bound* bound);
/* With the uniforms of the last update. */
WGK_API wgk_status wgk_bound_plan(const wgk_bound* bound, char** json, wgk_error** error);
WGK_API wgk_status wgk_bound_staging_notes(const wgk_bound* bound, char** json, wgk_error** error);
WGK_API wgk_status wgk_bound_record_pass(const wgk_bound* bound,
                                         struct WGPUComputePassEncoderImpl* pass,
                                         wgk_error** error);
WGK_API wgk_status wgk_bound_record_encoder(const wgk_bound* bound,
                                            struct WGPUCommandEncoderImpl* encoder,
                                            wgk_error** error);
WGK_API wgk_status wgk_bound_submit(const wgk_bound* bound, wgk_error** error);
WGK_API wgk_status wgk_bound_run(const wgk_bound* bound, wgk_future** future, wgk_error** error);
/* Runs, and reads every output back in the same submission. */
WGK_API wgk_status wgk_bound_run_and_read(const wgk_bound* bound, wgk_result** result,
                                          wgk_error** error);
/* `args`: a JSON object of new argument values. Not while another thread records. */
WGK_API wgk_status wgk_bound_update(wgk_bound* bound, const char* args, wgk_error** error);
WGK_API void wgk_bound_free(wgk_bound* bound);

/* ---- futures ---- */

/* `error` is null on success and is freed by the callback. */
typedef void (*wgk_future_callback)(wgk_status status, wgk_error* error, void* user);

WGK_API wgk_status wgk_future_ready(wgk_future* future, bool* ready, wgk_error** error);
/* Afterwards the results can be taken. */
WGK_API wgk_status wgk_future_wait(wgk_future* future, uint64_t timeout_ns, wgk_error** error);
/* Runs once, inside a later wgk_runtime_poll (or with "usage/cancelled" inside wgk_runtime_free).
 * Afterwards the results can be taken; where the future was freed before, they are dropped. A
 * future of one result has one callback. */
WGK_API wgk_status wgk_future_then(wgk_future* future, wgk_future_callback callback, void* user,
                                   wgk_error** error);
WGK_API void wgk_future_cancel(wgk_future* future);
/* Of wgk_kernel_start, wgk_kernel_start_prepare and wgk_runtime_prewarm_remembered, after the wait,
 * once. */
WGK_API wgk_status wgk_future_take_result(wgk_future* future, wgk_result** result,
                                          wgk_error** error);
WGK_API wgk_status wgk_future_take_prepared(wgk_future* future, wgk_prepared** prepared,
                                            wgk_error** error);
WGK_API wgk_status wgk_future_take_count(wgk_future* future, size_t* count, wgk_error** error);
WGK_API void wgk_future_free(wgk_future* future);

#ifdef __cplusplus
}
#endif

#endif /* WGK_H_ */
