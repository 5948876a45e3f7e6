// Embree, a scene a block: built at medium quality, its fastest instruction set.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <embree3/rtcore.h>

static std::atomic<int64_t> held{0};

static bool count(void*, ssize_t bytes, bool) {
    held += bytes;
    return true;
}

static RTCDevice device() {
    static RTCDevice one = [] {
        RTCDevice made = rtcNewDevice("threads=1");
        rtcSetDeviceMemoryMonitorFunction(made, count, nullptr);
        return made;
    }();
    return one;
}

extern "C" RTCScene peer_embree_build(const float* positions, size_t vertices,
                                      const uint32_t* indices, size_t triangles, int64_t* bytes) {
    RTCDevice on = device();
    int64_t before = held;
    RTCScene scene = rtcNewScene(on);
    RTCGeometry mesh = rtcNewGeometry(on, RTC_GEOMETRY_TYPE_TRIANGLE);
    void* v = rtcSetNewGeometryBuffer(mesh, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 12, vertices);
    std::memcpy(v, positions, 12 * vertices);
    void* i = rtcSetNewGeometryBuffer(mesh, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 12, triangles);
    std::memcpy(i, indices, 12 * triangles);
    rtcCommitGeometry(mesh);
    rtcAttachGeometry(scene, mesh);
    rtcReleaseGeometry(mesh);
    rtcCommitScene(scene);
    *bytes = held - before;
    return scene;
}

extern "C" void peer_embree_free(RTCScene scene) { rtcReleaseScene(scene); }

// The share of the way at which the segment hits, or infinity.
extern "C" float peer_embree_closest(RTCScene scene, const float* from, const float* direction) {
    RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    RTCRayHit ray;
    ray.ray.org_x = from[0];
    ray.ray.org_y = from[1];
    ray.ray.org_z = from[2];
    ray.ray.dir_x = direction[0];
    ray.ray.dir_y = direction[1];
    ray.ray.dir_z = direction[2];
    ray.ray.tnear = 0;
    ray.ray.tfar = 1;
    ray.ray.mask = ~0u;
    ray.ray.flags = 0;
    ray.ray.time = 0;
    ray.hit.geomID = RTC_INVALID_GEOMETRY_ID;
    rtcIntersect1(scene, &context, &ray);
    return ray.hit.geomID == RTC_INVALID_GEOMETRY_ID ? std::numeric_limits<float>::infinity()
                                                     : ray.ray.tfar;
}
