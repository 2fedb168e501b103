// SPDX-License-Identifier: Apache-2.0
#include "gpu/names.h"

#include <array>
#include <cstdint>

#include "wgk/device.h"

namespace wgk {

std::string_view name(Mode mode) { return mode == Mode::kTrusted ? "trusted" : "safe"; }

}  // namespace wgk

namespace wgk::gpu {
namespace {

constexpr std::array kFeatures = {
    FeatureEntry{WGPUFeatureName_CoreFeaturesAndLimits, "core-features-and-limits"},
    FeatureEntry{WGPUFeatureName_ShaderF16, "shader-f16"},
    FeatureEntry{WGPUFeatureName_Subgroups, "subgroups"},
    FeatureEntry{WGPUFeatureName_SubgroupSizeControl, "subgroup-size-control"},
    FeatureEntry{WGPUFeatureName_ChromiumExperimentalSubgroupMatrix,
                 "chromium-experimental-subgroup-matrix"},
    FeatureEntry{WGPUFeatureName_TimestampQuery, "timestamp-query"},
    FeatureEntry{WGPUFeatureName_TextureFormatsTier1, "texture-formats-tier1"},
    FeatureEntry{WGPUFeatureName_TextureFormatsTier2, "texture-formats-tier2"},
};

#define WGK_SMALL(member) \
  LimitEntry { #member, &WGPULimits::member, nullptr }
#define WGK_LARGE(member) \
  LimitEntry { #member, nullptr, &WGPULimits::member }
constexpr std::array kLimits = {
    WGK_SMALL(maxBindGroups),
    WGK_SMALL(maxBindGroupsPlusVertexBuffers),
    WGK_SMALL(maxBindingsPerBindGroup),
    WGK_LARGE(maxBufferSize),
    WGK_SMALL(maxColorAttachmentBytesPerSample),
    WGK_SMALL(maxColorAttachments),
    WGK_SMALL(maxComputeInvocationsPerWorkgroup),
    WGK_SMALL(maxComputeWorkgroupSizeX),
    WGK_SMALL(maxComputeWorkgroupSizeY),
    WGK_SMALL(maxComputeWorkgroupSizeZ),
    WGK_SMALL(maxComputeWorkgroupStorageSize),
    WGK_SMALL(maxComputeWorkgroupsPerDimension),
    WGK_SMALL(maxDynamicStorageBuffersPerPipelineLayout),
    WGK_SMALL(maxDynamicUniformBuffersPerPipelineLayout),
    WGK_SMALL(maxInterStageShaderVariables),
    WGK_SMALL(maxSampledTexturesPerShaderStage),
    WGK_SMALL(maxSamplersPerShaderStage),
    WGK_LARGE(maxStorageBufferBindingSize),
    WGK_SMALL(maxStorageBuffersPerShaderStage),
    WGK_SMALL(maxStorageTexturesPerShaderStage),
    WGK_SMALL(maxTextureArrayLayers),
    WGK_SMALL(maxTextureDimension1D),
    WGK_SMALL(maxTextureDimension2D),
    WGK_SMALL(maxTextureDimension3D),
    WGK_LARGE(maxUniformBufferBindingSize),
    WGK_SMALL(maxUniformBuffersPerShaderStage),
    WGK_SMALL(maxVertexAttributes),
    WGK_SMALL(maxVertexBufferArrayStride),
    WGK_SMALL(maxVertexBuffers),
    WGK_SMALL(minStorageBufferOffsetAlignment),
    WGK_SMALL(minUniformBufferOffsetAlignment),
};
#undef WGK_SMALL
#undef WGK_LARGE

}  // namespace

std::span<const FeatureEntry> known_features() { return kFeatures; }

std::optional<WGPUFeatureName> feature_from_name(std::string_view name) {
  for (const FeatureEntry& entry : kFeatures) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

std::span<const LimitEntry> known_limits() { return kLimits; }

double read_limit(const WGPULimits& limits, const LimitEntry& entry) {
  return entry.small != nullptr ? static_cast<double>(limits.*entry.small)
                                : static_cast<double>(limits.*entry.large);
}

void write_limit(WGPULimits& limits, const LimitEntry& entry, double value) {
  if (entry.small != nullptr) {
    limits.*entry.small = static_cast<std::uint32_t>(value);
  } else {
    limits.*entry.large = static_cast<std::uint64_t>(value);
  }
}

std::string_view language_feature_name(WGPUWGSLLanguageFeatureName value) {
  switch (value) {
    case WGPUWGSLLanguageFeatureName_ReadonlyAndReadwriteStorageTextures:
      return "readonly_and_readwrite_storage_textures";
    case WGPUWGSLLanguageFeatureName_Packed4x8IntegerDotProduct:
      return "packed_4x8_integer_dot_product";
    case WGPUWGSLLanguageFeatureName_UnrestrictedPointerParameters:
      return "unrestricted_pointer_parameters";
    case WGPUWGSLLanguageFeatureName_PointerCompositeAccess: return "pointer_composite_access";
    case WGPUWGSLLanguageFeatureName_UniformBufferStandardLayout:
      return "uniform_buffer_standard_layout";
    case WGPUWGSLLanguageFeatureName_SubgroupId: return "subgroup_id";
    case WGPUWGSLLanguageFeatureName_TextureAndSamplerLet: return "texture_and_sampler_let";
    case WGPUWGSLLanguageFeatureName_SubgroupUniformity: return "subgroup_uniformity";
    case WGPUWGSLLanguageFeatureName_TextureFormatsTier1: return "texture_formats_tier1";
    case WGPUWGSLLanguageFeatureName_LinearIndexing: return "linear_indexing";
    case WGPUWGSLLanguageFeatureName_ImmediateAddressSpace: return "immediate_address_space";
    case WGPUWGSLLanguageFeatureName_BufferView: return "buffer_view";
    case WGPUWGSLLanguageFeatureName_SwizzleAssignment: return "swizzle_assignment";
    case WGPUWGSLLanguageFeatureName_FragmentDepth: return "fragment_depth";
    default: return {};  // a testing or vendor feature: packages have no name for it
  }
}

std::string_view backend_name(WGPUBackendType value) {
  switch (value) {
    case WGPUBackendType_Null: return "null";
    case WGPUBackendType_WebGPU: return "webgpu";
    case WGPUBackendType_D3D11: return "d3d11";
    case WGPUBackendType_D3D12: return "d3d12";
    case WGPUBackendType_Metal: return "metal";
    case WGPUBackendType_Vulkan: return "vulkan";
    case WGPUBackendType_OpenGL: return "opengl";
    case WGPUBackendType_OpenGLES: return "opengles";
    default: return "unknown";
  }
}

std::optional<WGPUBackendType> backend_from_name(std::string_view name) {
  for (const auto value : {WGPUBackendType_Null, WGPUBackendType_WebGPU, WGPUBackendType_D3D11,
                           WGPUBackendType_D3D12, WGPUBackendType_Metal, WGPUBackendType_Vulkan,
                           WGPUBackendType_OpenGL, WGPUBackendType_OpenGLES}) {
    if (backend_name(value) == name) return value;
  }
  return std::nullopt;
}

std::string_view adapter_type_name(WGPUAdapterType value) {
  switch (value) {
    case WGPUAdapterType_DiscreteGPU: return "discrete";
    case WGPUAdapterType_IntegratedGPU: return "integrated";
    case WGPUAdapterType_CPU: return "cpu";
    default: return "unknown";
  }
}

std::string_view component_name(WGPUSubgroupMatrixComponentType value) {
  switch (value) {
    case WGPUSubgroupMatrixComponentType_F32: return "f32";
    case WGPUSubgroupMatrixComponentType_F16: return "f16";
    case WGPUSubgroupMatrixComponentType_U32: return "u32";
    case WGPUSubgroupMatrixComponentType_I32: return "i32";
    case WGPUSubgroupMatrixComponentType_U8: return "u8";
    case WGPUSubgroupMatrixComponentType_I8: return "i8";
    default: return {};
  }
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace wgk::gpu
