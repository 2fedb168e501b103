/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <wgk.h>

static int fail(wgk_error* error) {
  fprintf(stderr, "%s\n", wgk_error_text(error));
  wgk_error_free(error);
  return 1;
}

int main(int count, char** arguments) {
  wgk_error* error = NULL;
  wgk_runtime* runtime = NULL;
  wgk_kernel* norm = NULL;
  wgk_result* result = NULL;
  wgk_tensor* output = NULL;
  wgk_runtime_options options = WGK_RUNTIME_OPTIONS_INIT;
  wgk_call_options call = WGK_CALL_OPTIONS_INIT;
  const int64_t matrix[] = {2, 8};
  const int64_t row[] = {8};
  float x[16], skip[16], gamma[8], y[16];
  wgk_host_tensor tensors[3];
  wgk_input inputs[3];
  int i;

  if (count != 2) return 2;
  for (i = 0; i < 16; ++i) {
    x[i] = 1.0f;
    skip[i] = 2.0f;
    gamma[i % 8] = 0.5f;
  }
  memset(tensors, 0, sizeof tensors);
  memset(inputs, 0, sizeof inputs);
  tensors[0].data = x;
  tensors[1].data = skip;
  tensors[2].data = gamma;
  for (i = 0; i < 3; ++i) {
    tensors[i].size = i < 2 ? sizeof x : sizeof gamma;
    tensors[i].shape = i < 2 ? matrix : row;
    tensors[i].rank = i < 2 ? 2 : 1;
    tensors[i].dtype = WGK_F32;
    tensors[i].array = WGK_DTYPE_DEFAULT;
    inputs[i].host = &tensors[i];
  }
  inputs[0].name = "input";
  inputs[1].name = "skip";
  inputs[2].name = "gamma";
  call.read_back = true;

  if (wgk_runtime_create(&options, &runtime, &error) != WGK_OK) return fail(error);
  if (wgk_kernel_load(runtime, arguments[1], NULL, &norm, &error) != WGK_OK) return fail(error);
  if (wgk_kernel_call(norm, inputs, 3, &call, &result, &error) != WGK_OK) return fail(error);
  output = wgk_result_tensor(result, "output");
  if (wgk_tensor_download(output, 0, 16, y, sizeof y, &error) != WGK_OK) return fail(error);
  printf("c: %s gives %g\n", wgk_result_variant(result), (double)y[0]);
  wgk_tensor_free(output);
  wgk_result_free(result);
  wgk_kernel_free(norm);
  wgk_runtime_free(runtime);
  return y[0] == 0.5f ? 0 : 1;
}
