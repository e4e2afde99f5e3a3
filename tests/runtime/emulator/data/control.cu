#include <cstdint>
#include <cuda_fp16.h>
#include <cooperative_groups.h>
__constant__ int table[8]={3,1,4,1,5,9,2,6};
__device__ unsigned counter=7;
__device__ __noinline__ int collatz(unsigned n,int limit){ int s=0; while(n!=1){ if(s>=limit) break; n = (n&1)?3*n+1:n/2; ++s;} return s; }
__device__ __noinline__ float2 pairfn(float a,float b){ return make_float2(a*b,a-b); }
extern "C" __global__ void control(const unsigned* x,int* out,int n){
  int i=blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return;
  unsigned v=x[i]; int r=0;
  for(int k=0;k<(int)(v%13);++k){ if(k==5) continue; if(r>100) break; switch((v+k)%7){case 0:r+=1;break;case 1:r*=2;break;case 2:r^=k;break;case 3:r+=table[k&7];break;case 4:r-=3;break;case 5:r+=collatz(v%1000+1,50);break;default:r=-r;} }
  int loc[16]; for(int k=0;k<16;++k) loc[k]=k*r; r+=loc[(v>>3)&15]+loc[r&15];
  float2 p=pairfn((float)r,(float)(v&255)); r+=(int)(p.x-p.y)&0xff;
  out[i]=r; }
extern "C" __global__ void histogram(const unsigned char* x,unsigned* bins,int n){
  extern __shared__ unsigned s[]; for(int i=threadIdx.x;i<256;i+=blockDim.x) s[i]=0; __syncthreads();
  for(int i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=gridDim.x*blockDim.x) atomicAdd(&s[x[i]],1u); __syncthreads();
  for(int i=threadIdx.x;i<256;i+=blockDim.x) atomicAdd(&bins[i],s[i]); if(threadIdx.x==0) atomicAdd(&counter,1u); }
extern "C" __global__ void warps(const int* x,unsigned* out){
  int t=threadIdx.x+blockIdx.x*blockDim.x,l=threadIdx.x&31; int v=x[t]; unsigned r=0;
  if(l<16){ r=__shfl_xor_sync(0xffff,v,5); r+=__reduce_add_sync(0xffff,v);} else { r=__shfl_down_sync(0xffff0000,v,3)*2; r^=__ballot_sync(0xffff0000,v&1);}
  __syncwarp(); r+=__match_any_sync(~0u,v&3); r+=__popc(__activemask()); r+=__any_sync(~0u,v==5)+2*__all_sync(~0u,v>-5);
  r+=__syncthreads_count(v&1)+ 1000*__syncthreads_or(v==77)+ 2000*__syncthreads_and(v!=78);
  out[t]=r; }
extern "C" __global__ void scan64(const double* x,double* out,int n){ __shared__ double s[2][256]; int t=threadIdx.x,p=0; s[0][t]=t<n?x[t]:0; __syncthreads();
  for(int o=1;o<blockDim.x;o*=2){ s[p^1][t]= t>=o? s[p][t]+s[p][t-o]:s[p][t]; p^=1; __syncthreads(); } if(t<n) out[t]=fma(s[p][t],0.5,1.0/ (t+3)); }
extern "C" __global__ void halfs(const __half2* x,__half2* o,float* f,int n){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ __half2 v=x[i]; o[i]=__hfma2(v,v,__hmul2(v,__float2half2_rn(0.25f))); f[i]=__low2float(v)+expf(__high2float(v))+sqrtf(fabsf(__low2float(v)));} }
extern "C" __global__ void __cluster_dims__(4,1,1) clusters(const int* x,int* out){
  namespace cg=cooperative_groups; auto c=cg::this_cluster(); __shared__ int s; int r=c.block_rank(); if(threadIdx.x==0) s=x[blockIdx.x]; c.sync();
  int sum=0; for(int k=0;k<4;++k) sum+=(*c.map_shared_rank(&s,k))*(k+1); c.sync(); if(threadIdx.x==0) out[blockIdx.x]=sum*10+r; }
