# %% [markdown]
# # Terrain as NumPy arrays
#
# Makes a mountain from an array of heights, digs a tunnel through it, carves caves from a field of
# distances, floods a lake, and looks at all of it: in cuts, from above by rays, and as a mesh. Every
# array of cells is indexed `[y, z, x]`, heights are `[z, x]`; y is up, lengths are metres.

# %%
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LightSource
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import terravox as tv

plt.rcParams.update({"figure.dpi": 70, "image.origin": "lower", "font.size": 9})
SIZE, HEIGHT = 256, 112
world = tv.World.memory(voxel_size_m=1.0)

# %% [markdown]
# ## Ground from heights
#
# Hills of six sizes and a mountain. `fill_heights` makes cells that are as full as the surface cuts them,
# so that the ground is smooth and not a staircase. The uint8 array says what the surface is made of.

# %%
z, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float64)
heights = 26 + 62 * np.exp(-((x - 150) ** 2 + (z - 130) ** 2) / 3600)
rng = np.random.default_rng(4)
for octave in range(6):
    length, turn, (u0, v0) = 45 / 1.9**octave, rng.uniform(0, 6), rng.uniform(0, 6, 2)
    u, v = x * np.cos(turn) + z * np.sin(turn), z * np.cos(turn) - x * np.sin(turn)
    heights += 9 / 1.9**octave * np.sin(u / length + u0) * np.cos(v / length + v0)
heights = heights.astype(np.float32)

slope = np.hypot(*np.gradient(heights))
top = np.full(heights.shape, world.material("grass"), np.uint8)
top[slope > 0.9] = world.material("rock")
top[heights > 74] = world.material("snow")
world.fill_heights(
    heights,
    bottom_m=0,
    material=top,
    below=[(1.5, "ground"), (4.0, "rock")],
    sea_level_m=24.0,
)
world

# %% [markdown]
# ## From above, by rays
#
# One call casts a ray for each pixel. Colours are those of the materials, shaded by the heights that
# were hit.

# %%
colours = np.array([material.colour for material in world.materials]) / 255


def map_of(world, low=0, high=SIZE, step=0.5):
    """A map: the colours and heights of what lies under each point."""
    axis = np.arange(low + step / 2, high, step)
    px, pz = np.meshgrid(axis, axis)
    origins = np.stack([px, np.full(px.shape, HEIGHT + 50.0), pz], -1).reshape(-1, 3)
    hits = world.rays(origins, [(0, -1, 0)], surface="both")
    height = hits.point_m[:, 1].reshape(px.shape)
    colour = colours[hits.material].reshape(*px.shape, 3)
    light = LightSource(azdeg=315, altdeg=40)
    return light.shade_rgb(colour, height, vert_exag=0.5 / step, blend_mode="soft"), height


picture, height = map_of(world)
plt.figure(figsize=(6, 6))
plt.imshow(picture, extent=(0, SIZE, 0, SIZE))
plt.xlabel("x, m")
plt.ylabel("z, m")
plt.title("The ground, from above")
plt.show()

# %% [markdown]
# ## Digging
#
# Edits take brushes in metres and say how much of which material they moved. A tunnel is a path; a
# quarry is a cylinder that fades in; both can be undone.

# %%
points = np.array([(60, 32, 128), (110, 36, 120), (150, 40, 132), (200, 36, 124), (250, 30, 130)])
tunnel = world.dig(tv.Brush.path(points, 5.0))
quarry = world.dig(tv.Brush.cylinder((150, 90, 130), 16, 24), falloff_m=6)
for name, edit in [("tunnel", tunnel), ("quarry", quarry)]:
    rock = edit.removed[world.material("rock")]
    print(f"{name}: {rock:,.0f} m³ of rock, {sum(edit.removed.values()):,.0f} m³ in all")

# %% [markdown]
# ## Caves from distances
#
# Any field will do: positive is inside. Here a gyroid is cut out of the rock of a region, by reading its
# cells, making a field of what is to stay, and writing the smaller of both back.

# %%
low, high = np.array((30, 0, 96)), np.array((250, 34, 166))
cells = world.read(low, high)
y, z, x = np.mgrid[low[1] : high[1], low[2] : high[2], low[0] : high[0]].astype(np.float32) + 0.5
gyroid = np.sin(x / 6) * np.cos(y / 5) + np.sin(y / 5) * np.cos(z / 6) + np.sin(z / 6) * np.cos(x / 6)
walls = (np.abs(gyroid) - 0.35) * 5  # metres, about
fraction = np.minimum(cells.fraction(), np.clip(0.5 + walls, 0, 1))
fraction[: 6] = cells.fraction()[: 6]  # a floor
solid = cells.material != world.material("water")
material = np.where(solid & (fraction < 1 / 256), 0, cells.material).astype(np.uint8)
occupancy = np.where(solid, np.clip(fraction * 256 - 1, 0, 255), cells.occupancy).astype(np.uint8)
world.write(low, material, occupancy)

cut = world.read((0, 0, 128), (SIZE, HEIGHT, 129))
plt.figure(figsize=(9, 4.2))
palette = colours.copy()
palette[0] = (0.80, 0.88, 0.95)  # the sky
shown = palette[cut.material[:, 0]]
part = cut.fraction()[:, 0, :, None]
plt.imshow(shown * part + palette[0] * (1 - part), extent=(0, SIZE, 0, HEIGHT))
plt.xlabel("x, m")
plt.ylabel("y, m")
plt.title("A cut at z = 128 m: layers, caves, tunnel and quarry")
plt.show()

# %% [markdown]
# ## A mesh
#
# Vertices, normals and triangles are arrays, too. Here the mountain with its quarry, at mip 1: cells of
# 2 m.

# %%
mesh = world.mesh((35, 5, 25), (115, HEIGHT // 2, 105), mip=1)
print(mesh, "from", mesh.origin_m)
corners = (mesh.vertices + np.array(mesh.origin_m))[mesh.triangles]  # triangle, corner, xyz
normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-12
sun = np.array((-0.5, 0.75, -0.45)) / np.linalg.norm((-0.5, 0.75, -0.45))
light = 0.35 + 0.65 * np.clip(normal @ sun, 0, 1)
fig = plt.figure(figsize=(8, 5.2))
axes = fig.add_subplot(projection="3d", computed_zorder=False)
faces = corners[:, :, [0, 2, 1]]  # y is up
shades = colours[mesh.triangle_materials] * light[:, None]
axes.add_collection3d(Poly3DCollection(faces, facecolors=shades, edgecolors=shades, linewidths=0.3))
axes.set(xlim=(70, 230), ylim=(50, 210), zlim=(10, 100), xlabel="x, m", ylabel="z, m", zlabel="y, m")
axes.set_box_aspect((160, 160, 90))
axes.view_init(elev=38, azim=-60)
plt.show()

# %% [markdown]
# ## Far views, undo, saving
#
# Coarse mips are kept up to date by every write. `undo` takes edits back; a file keeps the history, too.

# %%
fig, many = plt.subplots(1, 4, figsize=(10, 2.8))
for mip, axes in enumerate(many):
    coarse = world.read((0, 0, (128 >> mip)), (SIZE >> mip, HEIGHT >> mip, (128 >> mip) + 1), mip)
    axes.imshow(palette[coarse.material[:, 0]], extent=(0, SIZE, 0, HEIGHT))
    axes.set_title(f"mip {mip}: {1 << mip} m")
    axes.set_xticks([])
    axes.set_yticks([])
plt.show()

# %%
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "mountain.tvx"
    world.save_as(path)
    print(f"{path.stat().st_size / 2**20:.2f} MiB for {SIZE}×{HEIGHT}×{SIZE} voxels")
    with tv.World.open(path) as again:
        assert again.digest() == world.digest()
        again.dig(tv.Brush.ball((150, 60, 130), 20))
        assert again.digest() != world.digest()
        again.undo()
        assert again.digest() == world.digest()
print("the same digest after all:", world.digest())
