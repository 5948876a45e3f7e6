//! Compute pipelines, buffers, and results on their way back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use wgpu::BufferUsages as Usages;

use crate::device::GpuDevice;
use crate::error::GpuError;

/// An entry point of a shader.
#[derive(Debug)]
pub(crate) struct Kernel {
    pipeline: wgpu::ComputePipeline,
}

impl Kernel {
    /// Compiles an entry point.
    pub fn new(gpu: &GpuDevice, source: &str, entry: &str) -> Result<Kernel, GpuError> {
        if let Some(failure) = gpu.failure() {
            return Err(failure);
        }
        let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(entry),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: None,
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        match pollster::block_on(scope.pop()) {
            None => Ok(Kernel { pipeline }),
            Some(error) => Err(GpuError::Density(error.to_string())),
        }
    }

    /// Binds buffers, by number.
    pub fn bind(&self, gpu: &GpuDevice, buffers: &[(u32, &wgpu::Buffer)]) -> wgpu::BindGroup {
        let entries: Vec<_> = buffers
            .iter()
            .map(|&(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let layout = &self.pipeline.get_bind_group_layout(0);
        gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout,
            entries: &entries,
        })
    }

    /// Adds `groups` × `blocks` work groups to a command list.
    pub fn run(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        bound: &wgpu::BindGroup,
        [groups, blocks]: [usize; 2],
    ) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, bound, &[]);
        pass.dispatch_workgroups(groups as u32, blocks as u32, 1);
    }
}

/// Most work groups along an axis of a dispatch, and so most blocks of a batch.
pub(crate) const MAX_GROUPS: usize = 65535;

/// A buffer that shaders use.
pub(crate) fn storage(gpu: &GpuDevice, bytes: u64) -> wgpu::Buffer {
    buffer(gpu, bytes, Usages::STORAGE | Usages::COPY_SRC | Usages::COPY_DST)
}

/// A small buffer with constants.
pub(crate) fn uniform(gpu: &GpuDevice, bytes: u64) -> wgpu::Buffer {
    buffer(gpu, bytes, Usages::UNIFORM | Usages::COPY_DST)
}

fn buffer(gpu: &GpuDevice, size: u64, usage: Usages) -> wgpu::Buffer {
    let mapped_at_creation = false;
    gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation,
    })
}

/// Whether results have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    Waiting,
    Here,
    Lost,
}

const WAITING: u8 = 0;
const HERE: u8 = 1;
const LOST: u8 = 2;

/// A buffer that the CPU reads.
#[derive(Debug)]
pub(crate) struct Readback {
    pub buffer: wgpu::Buffer,
    state: Arc<AtomicU8>,
}

impl Readback {
    pub fn new(gpu: &GpuDevice, bytes: u64) -> Readback {
        let buffer = buffer(gpu, bytes, Usages::MAP_READ | Usages::COPY_DST);
        Readback { buffer, state: Arc::default() }
    }

    /// Asks for its first bytes, after what was submitted.
    pub fn request(&mut self, bytes: u64) {
        self.state = Arc::default();
        let state = Arc::clone(&self.state);
        self.buffer.map_async(wgpu::MapMode::Read, ..bytes, move |mapped| {
            state.store(if mapped.is_ok() { HERE } else { LOST }, Ordering::Release);
        });
    }

    pub fn arrival(&self, gpu: &GpuDevice) -> Arrival {
        // Buffers of a lost device cannot be read, even if they had arrived.
        match self.state.load(Ordering::Acquire) {
            _ if gpu.failure().is_some() => Arrival::Lost,
            WAITING => Arrival::Waiting,
            HERE => Arrival::Here,
            _ => Arrival::Lost,
        }
    }

    /// Copies its first bytes, once they are [here](Arrival::Here). They are not lent, since the device
    /// may be lost at any time, and with it the memory.
    pub fn take(&self, bytes: u64) -> Vec<u8> {
        let taken = self.buffer.get_mapped_range(..bytes).to_vec();
        self.buffer.unmap();
        taken
    }

    /// As [`Readback::take`], as words.
    pub fn take_words(&self, bytes: u64) -> Vec<u32> {
        let words = self.buffer.get_mapped_range(..bytes);
        let taken = words.as_chunks::<4>().0.iter().copied().map(u32::from_le_bytes).collect();
        drop(words);
        self.buffer.unmap();
        taken
    }
}
