//! A device without a window: buffers, one picture and its depths, and a compute pass.

use crate::buffers::{Buffers, Draw};
use glam::{Mat4, Vec3};
use terravox::mesh::UNPACK_WGSL;
use terravox::voxel::MaterialTable;
use wgpu::util::{BufferInitDescriptor, DeviceExt};
use wgpu::{BufferUsages as Usages, TextureFormat as Format};

/// A device and its queue.
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// Name of the device and its driver.
    pub name: String,
}

/// How a frame is seen.
pub struct Camera {
    /// Of voxels from the frame's origin; depth is 1 at the near plane, 0 at infinity.
    pub clip_from_voxel: Mat4,
    /// Voxels from the frame's origin.
    pub eye: Vec3,
    /// Pixels.
    pub size: [u32; 2],
}

/// A picture: sRGB with alpha, and depths; rows from the top.
pub struct Picture {
    pub colours: Vec<u8>,
    pub depths: Vec<f32>,
    /// Surfaces that were drawn, and that were out of sight.
    pub drawn: [usize; 2],
}

/// What a vertex is on the card; as in `check.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Unpacked {
    pub voxel: [f32; 3],
    pub materials: [u8; 4],
    pub position: [f32; 3],
    pub weights: [u8; 4],
    pub normal: [f32; 3],
    pub unused: u32,
}

impl Gpu {
    /// The first device of this machine, if it has any.
    pub fn new() -> Result<Gpu, String> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter = pollster::block_on(instance.request_adapter(&Default::default()))
            .map_err(|error| format!("no Vulkan device: {error}"))?;
        let info = adapter.get_info();
        let limits = wgpu::DeviceDescriptor {
            required_limits: adapter.limits(),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&limits))
            .map_err(|error| format!("{}: {error}", info.name))?;
        Ok(Gpu { device, queue, name: format!("{} ({})", info.name, info.driver_info) })
    }

    fn buffer(&self, contents: &[u8], usage: Usages) -> wgpu::Buffer {
        self.device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage })
    }

    fn shader(&self, source: &str) -> wgpu::ShaderModule {
        self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(format!("{UNPACK_WGSL}\n{source}").into()),
        })
    }

    /// Draws the buffers.
    pub fn draw(&self, buffers: &Buffers, camera: &Camera, table: &MaterialTable) -> Picture {
        let vertices = self.buffer(bytemuck::cast_slice(&buffers.vertices), Usages::VERTEX);
        let mut narrow_indices = buffers.narrow.clone();
        narrow_indices.resize(buffers.narrow.len().next_multiple_of(2), 0); // by four bytes
        let narrow = self.buffer(bytemuck::cast_slice(&narrow_indices), Usages::INDEX);
        let wide = self.buffer(bytemuck::cast_slice(&buffers.wide), Usages::INDEX);
        let places = self.buffer(bytemuck::cast_slice(&buffers.places), Usages::VERTEX);
        let frame = self.buffer(&frame_bytes(camera, table), Usages::UNIFORM);
        let shader = self.shader(include_str!("draw.wgsl"));
        let [ground, water] = [("ground", false), ("water", true)]
            .map(|(entry, blend)| self.pipeline(&shader, entry, blend));
        let [colour, depth] = [Format::Rgba8UnormSrgb, Format::Depth32Float]
            .map(|format| self.target(format, camera.size));
        let views = [&colour, &depth].map(|target| target.create_view(&Default::default()));
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = begin(&mut encoder, &views);
        pass.set_vertex_buffer(0, vertices.slice(..));
        pass.set_vertex_buffer(1, places.slice(..));
        let visible = |draw: &&Draw| is_visible(buffers, camera, draw);
        let mut drawn = [0; 2];
        for (pipeline, draws) in [(&ground, &buffers.ground), (&water, &buffers.water)] {
            pass.set_pipeline(pipeline);
            let entries =
                [wgpu::BindGroupEntry { binding: 0, resource: frame.as_entire_binding() }];
            pass.set_bind_group(0, &self.bind(&pipeline.get_bind_group_layout(0), &entries), &[]);
            for draw in draws.iter().filter(visible) {
                match draw.is_wide {
                    true => pass.set_index_buffer(wide.slice(..), wgpu::IndexFormat::Uint32),
                    false => pass.set_index_buffer(narrow.slice(..), wgpu::IndexFormat::Uint16),
                }
                let indices = draw.first_index..draw.first_index + draw.index_count;
                // The mesh's place is that of its instance.
                pass.draw_indexed(indices, draw.first_vertex as i32, draw.mesh..draw.mesh + 1);
                drawn[0] += 1;
            }
            drawn[1] += draws.len();
        }
        drop(pass);
        let copies =
            [&colour, &depth].map(|target| self.copy_out(&mut encoder, target, camera.size));
        self.queue.submit([encoder.finish()]);
        let [colours, depths] = copies.map(|copy| self.read(&copy));
        drawn[1] -= drawn[0];
        Picture { colours, depths: words(&depths), drawn }
    }

    /// Unpacks every vertex on the card.
    pub fn unpack(&self, buffers: &Buffers) -> Vec<Unpacked> {
        let count = buffers.vertices.len();
        let inputs = [
            bytemuck::cast_slice(&buffers.vertices),
            bytemuck::cast_slice(&buffers.mesh_of),
            bytemuck::cast_slice(&buffers.places),
        ]
        .map(|bytes: &[u8]| self.buffer(bytes, Usages::STORAGE));
        let size = (count * size_of::<Unpacked>()) as u64;
        let [out, copy] = [Usages::STORAGE | Usages::COPY_SRC, Usages::MAP_READ | Usages::COPY_DST]
            .map(|usage| self.empty_buffer(size, usage));
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &self.shader(include_str!("check.wgsl")),
            entry_point: Some("unpack"),
            compilation_options: Default::default(),
            cache: None,
        });
        let entries: Vec<_> = (0..)
            .zip(inputs.iter().chain([&out]))
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &self.bind(&pipeline.get_bind_group_layout(0), &entries), &[]);
        let groups = count.div_ceil(64) as u32;
        pass.dispatch_workgroups(groups.min(65535), groups.div_ceil(65535), 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&out, 0, &copy, 0, size);
        self.queue.submit([encoder.finish()]);
        words(&self.read(&copy))
    }

    fn pipeline(
        &self,
        shader: &wgpu::ShaderModule,
        entry: &str,
        blend: bool,
    ) -> wgpu::RenderPipeline {
        let vertex = wgpu::VertexBufferLayout {
            array_stride: 16,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &wgpu::vertex_attr_array![0 => Uint32x4],
        };
        let place = wgpu::VertexBufferLayout {
            array_stride: 16,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &wgpu::vertex_attr_array![1 => Float32x4],
        };
        self.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(entry),
            layout: None,
            vertex: wgpu::VertexState {
                module: shader,
                entry_point: Some("corner"),
                compilation_options: Default::default(),
                buffers: &[Some(vertex), Some(place)],
            },
            primitive: wgpu::PrimitiveState {
                front_face: wgpu::FrontFace::Ccw,
                cull_mode: (!blend).then_some(wgpu::Face::Back),
                ..Default::default()
            },
            depth_stencil: Some(wgpu::DepthStencilState {
                format: Format::Depth32Float,
                depth_write_enabled: Some(!blend),
                depth_compare: Some(wgpu::CompareFunction::Greater),
                stencil: Default::default(),
                bias: Default::default(),
            }),
            multisample: Default::default(),
            fragment: Some(wgpu::FragmentState {
                module: shader,
                entry_point: Some(entry),
                compilation_options: Default::default(),
                targets: &[Some(wgpu::ColorTargetState {
                    format: Format::Rgba8UnormSrgb,
                    blend: blend.then_some(wgpu::BlendState::ALPHA_BLENDING),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        })
    }

    fn bind(
        &self,
        layout: &wgpu::BindGroupLayout,
        entries: &[wgpu::BindGroupEntry<'_>],
    ) -> wgpu::BindGroup {
        self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries })
    }

    fn target(&self, format: Format, [width, height]: [u32; 2]) -> wgpu::Texture {
        self.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        })
    }

    fn empty_buffer(&self, size: u64, usage: Usages) -> wgpu::Buffer {
        let mapped_at_creation = false;
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation,
        })
    }

    /// Four bytes a pixel; the width is a multiple of 64, so rows have no padding.
    fn copy_out(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        texture: &wgpu::Texture,
        [width, height]: [u32; 2],
    ) -> wgpu::Buffer {
        assert!(width.is_multiple_of(64), "a width of {width} is not a multiple of 64");
        let size = u64::from(width) * u64::from(height) * 4;
        let buffer = self.empty_buffer(size, Usages::MAP_READ | Usages::COPY_DST);
        encoder.copy_texture_to_buffer(
            texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(4 * width),
                    rows_per_image: None,
                },
            },
            texture.size(),
        );
        buffer
    }

    fn read(&self, buffer: &wgpu::Buffer) -> Vec<u8> {
        buffer.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("the buffer is mappable"));
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device is not lost");
        buffer.get_mapped_range(..).expect("it is mapped").to_vec()
    }
}

/// Bytes, wherever they lie, as values.
fn words<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

fn begin<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    [colour, depth]: &[wgpu::TextureView; 2],
) -> wgpu::RenderPass<'a> {
    let sky = wgpu::Color { r: 0.42, g: 0.58, b: 0.82, a: 1.0 };
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: colour,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load: wgpu::LoadOp::Clear(sky), store: wgpu::StoreOp::Store },
        })],
        depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
            view: depth,
            depth_ops: Some(wgpu::Operations {
                load: wgpu::LoadOp::Clear(0.0),
                store: wgpu::StoreOp::Store,
            }),
            stencil_ops: None,
        }),
        ..Default::default()
    })
}

/// Whether some of a mesh may be in sight: not all of its box is beyond one side of the view.
fn is_visible(buffers: &Buffers, camera: &Camera, draw: &Draw) -> bool {
    let bounds = buffers.bounds[draw.mesh as usize];
    let corner = |i: usize| {
        let at = [0, 1, 2]
            .map(|a| if i >> a & 1 == 1 { bounds.max[a] as f32 } else { bounds.min[a] as f32 });
        camera.clip_from_voxel * Vec3::from(at).extend(1.0)
    };
    let corners: [_; 8] = std::array::from_fn(corner);
    let beyond = |side: &dyn Fn(glam::Vec4) -> bool| corners.iter().all(|&c| side(c));
    !(beyond(&|c| c.x < -c.w)
        || beyond(&|c| c.x > c.w)
        || beyond(&|c| c.y < -c.w)
        || beyond(&|c| c.y > c.w)
        || beyond(&|c| c.w < 0.0))
}

/// As `Frame` in `draw.wgsl`.
fn frame_bytes(camera: &Camera, table: &MaterialTable) -> Vec<u8> {
    let mut words = camera.clip_from_voxel.to_cols_array().to_vec();
    words.extend(camera.eye.extend(0.0).to_array());
    let linear = |v: u8| (f32::from(v) / 255.0).powf(2.2);
    for id in 0..=255 {
        words.extend(table.colour(id).map(linear));
        words.push(1.0);
    }
    bytemuck::cast_slice(&words).to_vec()
}
