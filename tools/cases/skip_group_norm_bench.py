# SPDX-License-Identifier: Apache-2.0
"""bench.json of com.microsoft.SkipGroupNorm; written by skip_group_norm.py."""
from case_writer import F16, F32


def timed(shape, t, m=F32, last=1, groups=32, bias=False, s=True, skip="full", silu=1, epsilon=1e-5, tags=(), name=None):
    channels = shape[3] if last else shape[1]
    inputs = {"X": {"dtype": t, "shape": shape}, "gamma": {"dtype": m, "shape": [channels]}, "beta": {"dtype": m, "shape": [channels]},
              "skip": {"dtype": t, "shape": shape if skip == "full" else [shape[0], channels]}}
    if bias:
        inputs["bias"] = {"dtype": t, "shape": [channels]}
    streams = 2 + (skip == "full") + s
    label = "_".join(["x".join(map(str, shape)), "f16" if t == F16 else "f32", *([] if last else ["nchw"]), *([] if skip == "full" else [skip]),
                      *(["bias"] if bias else []), *(["s"] if s else []), *([] if silu else ["linear"])])
    return {"name": name or label, "attrs": {"groups": groups, "activation": silu, "epsilon": epsilon, **({} if last else {"channels_last": 0})},
            "inputs": inputs, "outputs": ["Y", "S"] if s else ["Y"],
            "bytes": f"{streams} * tensorBytes", "flops": f"{12 if silu else 9} * numel(shapes.X)", "tags": list(tags)}


def benches():
    cases = []
    goals = [([2, 8, 8, 1280], "fused"), ([2, 16, 16, 1280], "fused"), ([2, 32, 32, 640], "small"), ([2, 64, 64, 320], "small"), ([2, 128, 128, 320], "medium"),
             ([16, 64, 64, 320], "medium"), ([1, 512, 512, 256], "huge"), ([1, 1024, 1024, 128], "huge")]
    for shape, regime in goals:
        for t in (F16, F32):
            cases.append(timed(shape, t, bias=True, tags=["goal", regime]))
    cases.append(timed([2, 320, 64, 64], F16, last=0, bias=True, tags=["goal", "nchw"]))
    cases.append(timed([2, 320, 64, 64], F32, last=0, bias=True, tags=["goal", "nchw"]))
    cases.append(timed([1, 256, 512, 512], F32, last=0, bias=True, tags=["goal", "nchw"]))
    cases.append(timed([1, 256, 512, 512], F16, last=0, bias=True, tags=["goal", "nchw"]))
    # The same without S, and with the broadcast skip of a time embedding.
    for shape, regime in goals:
        cases.append(timed(shape, F16, bias=True, s=False, tags=["no_sum", regime]))
        cases.append(timed(shape, F16, skip="nc", s=False, tags=["broadcast", regime]))
    for shape, t in (([2, 64, 64, 320], F32), ([16, 64, 64, 320], F32), ([1, 512, 512, 128], F32)):
        cases.append(timed(shape, t, s=False, silu=int(shape[1] != 512), tags=["no_sum"]))
    # UNets: Stable Diffusion 1.5, 2.1, SDXL base and refiner; VAE decoders at 512 and 1024.
    for model, maps in (("sd15", [(64, 320), (32, 640), (16, 1280), (8, 1280)]), ("sd21", [(96, 320), (48, 640), (24, 1280), (12, 1280)]),
                        ("sdxl", [(128, 320), (64, 640), (32, 1280)]), ("refiner", [(128, 384), (64, 768), (32, 1536), (16, 1536)])):
        for size, channels in maps:
            shape = [2, size, size, channels]
            cases.append(timed(shape, F16, skip="nc", s=False, tags=["unet", model], name=f"{model}_{size}x{channels}_norm2_f16"))
            cases.append(timed(shape, F16, tags=["unet", model], name=f"{model}_{size}x{channels}_norm1_f16"))
            cases.append(timed(shape, F16, silu=0, epsilon=1e-6, tags=["unet", model], name=f"{model}_{size}x{channels}_transformer_f16"))
    for model, maps in (("vae512", [(64, 512), (128, 512), (256, 256), (512, 128)]), ("vae1024", [(128, 512), (256, 512), (512, 256), (1024, 128)])):
        for size, channels in maps:
            cases.append(timed([1, size, size, channels], F16, epsilon=1e-6, tags=["vae", model], name=f"{model}_{size}x{channels}_f16"))
    cases.append(timed([3, 17, 19, 60], F16, groups=12, tags=["odd"]))
    cases.append(timed([256, 4, 4, 256], F32, skip="nc", s=False, tags=["tiny_groups"]))
    # SDXL's linear projections bring a bias; ONNX Runtime's list for GroupNorm.
    for size, channels in ((128, 320), (64, 640), (32, 1280)):
        cases.append(timed([2, size, size, channels], F16, bias=True, silu=0, epsilon=1e-6, tags=["unet", "sdxl"], name=f"sdxl_{size}x{channels}_projection_f16"))
    for size, widths in ((64, (320, 640, 960)), (32, (320, 640, 960, 1280, 1920)), (16, (640, 1280, 1920, 2560)), (8, (1280, 2560))):
        for channels in widths:
            cases.append(timed([2, size, size, channels], F16, tags=["upstream"], name=f"upstream_{size}x{channels}_f16"))
    return {"cases": cases}
