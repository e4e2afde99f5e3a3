// CUB's device-wide reductions, as cub.py calls them: each first says how much temporary memory it needs, like CUB.
//
// Inputs are plain pointers, which CUB reads in vectors; operators take the wide type, in which it then accumulates.

#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/std/limits>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

template <class T>
struct Plus {
  __host__ __device__ T operator()(T a, T b) const { return a + b; }
};

template <class T>
struct Times {
  __host__ __device__ T operator()(T a, T b) const { return a * b; }
};

template <class T>
struct Most {
  __host__ __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

struct Or {
  __host__ __device__ bool operator()(bool a, bool b) const { return a || b; }
};

struct NotZero {
  __host__ __device__ std::int64_t operator()(float x) const { return x != 0.0f; }
};

struct Begin {
  std::int64_t size;
  __host__ __device__ std::int64_t operator()(std::int64_t segment) const { return segment * size; }
};

struct Work {
  void* temp;
  size_t& bytes;
  const void* in;
  void* out;
  std::int64_t n, segments;
};

template <class In, class Out, class Op, class Wide>
cudaError_t reduce(Work w, Op op, Wide init) {
  auto x = static_cast<const In*>(w.in);
  auto y = static_cast<Out*>(w.out);
  if (w.segments == 1) return cub::DeviceReduce::Reduce(w.temp, w.bytes, x, y, w.n, op, init);
  auto numbers = thrust::make_counting_iterator(std::int64_t{0});
  auto begin = thrust::make_transform_iterator(numbers, Begin{w.n / w.segments});
  return cub::DeviceSegmentedReduce::Reduce(w.temp, w.bytes, x, y, w.segments, begin, begin + 1, op, init);
}

cudaError_t count(Work w) {
  if (w.segments != 1) return cudaErrorNotSupported;
  auto x = static_cast<const float*>(w.in);
  auto y = static_cast<std::int64_t*>(w.out);
  return cub::DeviceReduce::TransformReduce(w.temp, w.bytes, x, y, w.n, Plus<std::int64_t>{}, NotZero{},
                                            std::int64_t{0});
}

// The index first, then the element.
cudaError_t argmax(Work w) {
  if (w.segments != 1) return cudaErrorNotSupported;
  auto index = static_cast<std::int64_t*>(w.out);
  auto x = static_cast<const float*>(w.in);
  return cub::DeviceReduce::ArgMax(w.temp, w.bytes, x, reinterpret_cast<float*>(index + 1), index, w.n);
}

constexpr float LOWEST = -cuda::std::numeric_limits<float>::infinity();

}  // namespace

// What each number does; cub.py has the same list.
extern "C" int bench_reduce(int kind, void* temp, size_t* bytes, const void* in, void* out, std::int64_t n,
                            std::int64_t segments) {
  const Work w{temp, *bytes, in, out, n, segments};
  using i64 = std::int64_t;
  switch (kind) {
    case 0: return reduce<float, float>(w, Plus<float>{}, 0.0f);
    case 1: return reduce<__nv_bfloat16, __nv_bfloat16>(w, Plus<float>{}, 0.0f);
    case 2: return reduce<std::int32_t, i64>(w, Plus<i64>{}, i64{0});
    case 3: return reduce<std::int8_t, i64>(w, Plus<i64>{}, i64{0});
    case 4: return reduce<float, float>(w, Most<float>{}, LOWEST);
    case 5: return reduce<__half, __half>(w, Most<float>{}, LOWEST);
    case 6: return reduce<__nv_bfloat16, __nv_bfloat16>(w, Most<float>{}, LOWEST);
    case 7: return reduce<double, double>(w, Times<double>{}, 1.0);
    case 8: return count(w);
    case 9: return reduce<bool, bool>(w, Or{}, false);
    case 10: return argmax(w);
    default: return cudaErrorNotSupported;
  }
}

extern "C" int bench_version() { return CUB_VERSION; }
extern "C" const char* bench_error(int status) { return cudaGetErrorString(static_cast<cudaError_t>(status)); }
