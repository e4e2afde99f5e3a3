#include <cstdint>
__device__ float warp_sum(float v){ for(int o=16;o;o>>=1) v+=__shfl_xor_sync(0xffffffffu,v,o); return v;}
extern "C" __global__ void __launch_bounds__(256) sum_f32(const float* __restrict__ x, float* __restrict__ partials, unsigned* counter, float* out, long long n){
  __shared__ float s[32]; __shared__ bool last;
  float acc=0; long long n4=n/4; const float4* x4=(const float4*)x;
  for(long long i=blockIdx.x*(long long)blockDim.x+threadIdx.x;i<n4;i+=(long long)gridDim.x*blockDim.x){ float4 v=x4[i]; acc+=(v.x+v.y)+(v.z+v.w);}
  if(blockIdx.x==0){ for(long long i=n4*4+threadIdx.x;i<n;i+=blockDim.x) acc+=x[i]; }
  acc=warp_sum(acc); int w=threadIdx.x/32,l=threadIdx.x%32;
  if(l==0) s[w]=acc; __syncthreads();
  if(w==0){ acc = l<blockDim.x/32? s[l]:0.f; acc=warp_sum(acc);}
  if(threadIdx.x==0){ partials[blockIdx.x]=acc; __threadfence(); last = atomicInc(counter,gridDim.x-1)==gridDim.x-1; }
  __syncthreads();
  if(last){ acc=0; for(int i=threadIdx.x;i<gridDim.x;i+=blockDim.x) acc+=((volatile float*)partials)[i];
    acc=warp_sum(acc); if(l==0) s[w]=acc; __syncthreads();
    if(w==0){ acc = l<blockDim.x/32? s[l]:0.f; acc=warp_sum(acc); if(l==0) *out=acc; } }
}
