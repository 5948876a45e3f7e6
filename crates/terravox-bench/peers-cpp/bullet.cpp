// Bullet, a quantized triangle mesh shape a block, with 16-bit indices.

#include <cstdint>
#include <limits>
#include <vector>
#include <btBulletCollisionCommon.h>
#include <BulletCollision/NarrowPhaseCollision/btRaycastCallback.h>

struct Peer {
    std::vector<float> positions;
    std::vector<uint16_t> indices;
    btTriangleIndexVertexArray* arrays;
    btBvhTriangleMeshShape* shape;
};

struct Closest : btTriangleRaycastCallback {
    Closest(const btVector3& from, const btVector3& to) : btTriangleRaycastCallback(from, to) {}
    btScalar reportHit(const btVector3&, btScalar share, int, int) override { return share; }
};

struct InBox : btTriangleCallback {
    float* out;
    size_t room, found = 0;
    btVector3 min, max;
    void processTriangle(btVector3* p, int, int) override {
        for (int i = 0; i < 3; i++) {
            btScalar least = btMin(p[0][i], btMin(p[1][i], p[2][i]));
            btScalar most = btMax(p[0][i], btMax(p[1][i], p[2][i]));
            if (least > max[i] || most < min[i]) return;
        }
        if (found < room)
            for (int v = 0; v < 3; v++)
                for (int i = 0; i < 3; i++) out[9 * found + 3 * v + i] = p[v][i];
        found++;
    }
};

extern "C" Peer* peer_bullet_build(const float* positions, size_t vertices, const uint32_t* indices,
                                   size_t triangles, int64_t* bytes) {
    Peer* peer = new Peer;
    peer->positions.assign(positions, positions + 3 * vertices);
    peer->indices.assign(indices, indices + 3 * triangles);
    btIndexedMesh mesh;
    mesh.m_numTriangles = int(triangles);
    mesh.m_triangleIndexBase = reinterpret_cast<const unsigned char*>(peer->indices.data());
    mesh.m_triangleIndexStride = 6;
    mesh.m_numVertices = int(vertices);
    mesh.m_vertexBase = reinterpret_cast<const unsigned char*>(peer->positions.data());
    mesh.m_vertexStride = 12;
    mesh.m_vertexType = PHY_FLOAT;
    peer->arrays = new btTriangleIndexVertexArray;
    peer->arrays->addIndexedMesh(mesh, PHY_SHORT);
    peer->shape = new btBvhTriangleMeshShape(peer->arrays, true);
    *bytes = int64_t(sizeof(Peer) + sizeof(*peer->arrays) + sizeof(*peer->shape) + 12 * vertices +
                     6 * triangles + peer->shape->getOptimizedBvh()->calculateSerializeBufferSize());
    return peer;
}

extern "C" void peer_bullet_free(Peer* peer) {
    delete peer->shape;
    delete peer->arrays;
    delete peer;
}

extern "C" float peer_bullet_closest(Peer* peer, const float* from, const float* to) {
    btVector3 a(from[0], from[1], from[2]), b(to[0], to[1], to[2]);
    Closest closest(a, b);
    peer->shape->performRaycast(&closest, a, b);
    return closest.m_hitFraction < 1 ? float(closest.m_hitFraction)
                                     : std::numeric_limits<float>::infinity();
}

// Writes up to `room` triangles and returns their number.
extern "C" size_t peer_bullet_boxed(Peer* peer, const float* min, const float* max, float* out,
                                    size_t room) {
    InBox in;
    in.out = out;
    in.room = room;
    in.min = btVector3(min[0], min[1], min[2]);
    in.max = btVector3(max[0], max[1], max[2]);
    peer->shape->processAllTriangles(&in, in.min, in.max);
    return in.found;
}
