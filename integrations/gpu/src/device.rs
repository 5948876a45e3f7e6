//! A graphics device and what it was found to be.

use std::sync::{Arc, Mutex, PoisonError};

use crate::batch::BatchOptions;
use crate::error::GpuError;

/// A graphics device that computes, opened here or shared with a renderer.
#[derive(Clone, Debug)]
pub struct GpuDevice {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    name: Arc<str>,
    is_software: bool,
    failure: Arc<Mutex<Option<GpuError>>>,
}

/// Storage buffers that a pass binds.
const STORAGE_BUFFERS: u32 = 6;

impl GpuDevice {
    /// Opens the best device: a graphics card before a processor's own graphics, before software.
    ///
    /// # Errors
    /// [`GpuError::NoDevice`] if there is none that can compute.
    pub fn open() -> Result<GpuDevice, GpuError> {
        GpuDevice::all().into_iter().next().ok_or(GpuError::NoDevice)
    }

    /// Opens every device that can compute, the best first. A card that several drivers show is
    /// there several times. The variable `WGPU_BACKEND` (`vulkan`, `gl`) restricts them.
    pub fn all() -> Vec<GpuDevice> {
        let descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        let backends = descriptor.backends;
        let instance = wgpu::Instance::new(descriptor);
        let mut adapters = pollster::block_on(instance.enumerate_adapters(backends));
        adapters.sort_by_key(|adapter| {
            let rank = match adapter.get_info().device_type {
                wgpu::DeviceType::DiscreteGpu => 0,
                wgpu::DeviceType::IntegratedGpu => 1,
                wgpu::DeviceType::VirtualGpu => 2,
                wgpu::DeviceType::Other => 3,
                wgpu::DeviceType::Cpu => 4,
            };
            (rank, adapter.get_info().backend == wgpu::Backend::Gl)
        });
        adapters.iter().filter_map(GpuDevice::of_adapter).collect()
    }

    fn of_adapter(adapter: &wgpu::Adapter) -> Option<GpuDevice> {
        let limits = adapter.limits();
        let can_compute = limits.max_compute_invocations_per_workgroup >= 256
            && limits.max_storage_buffers_per_shader_stage >= STORAGE_BUFFERS;
        let descriptor =
            wgpu::DeviceDescriptor { required_limits: limits, ..wgpu::DeviceDescriptor::default() };
        let (device, queue) = can_compute
            .then(|| pollster::block_on(adapter.request_device(&descriptor)).ok())
            .flatten()?;
        let opened = GpuDevice::shared(device, queue, &adapter.get_info());
        let failure = Arc::clone(&opened.failure);
        opened.device.set_device_lost_callback(move |_, message| {
            note(&failure, GpuError::Lost(message));
        });
        let failure = Arc::clone(&opened.failure);
        opened.device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            note(&failure, GpuError::Lost(error.to_string()));
        }));
        Some(opened)
    }

    /// Shares a device of the game's renderer. What that does about lost devices and errors stays as
    /// it is; here a loss shows when results do not come back.
    pub fn shared(device: wgpu::Device, queue: wgpu::Queue, info: &wgpu::AdapterInfo) -> GpuDevice {
        let driver = if info.driver_info.is_empty() { &info.driver } else { &info.driver_info };
        let name = format!("{} ({:?}, {driver})", info.name, info.backend);
        let is_software = info.device_type == wgpu::DeviceType::Cpu
            || ["llvmpipe", "SwiftShader"].iter().any(|name| info.name.contains(name));
        let failure = Arc::new(Mutex::new(None));
        GpuDevice { device, queue, name: name.into(), is_software, failure }
    }

    /// Returns the name of the device, its interface and its driver.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the device is a program that runs on the CPU: correct, and slow.
    pub fn is_software(&self) -> bool {
        self.is_software
    }

    /// Returns why the device cannot be used any more, if so.
    pub fn failure(&self) -> Option<GpuError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Destroys the device, as a driver that resets it would: what is in flight is lost, and
    /// everything that uses it goes on with the CPU.
    pub fn destroy(&self) {
        self.fail(GpuError::Lost("it was destroyed".to_owned()));
        self.device.destroy();
    }

    pub(crate) fn fail(&self, error: GpuError) {
        note(&self.failure, error);
    }

    /// Lets results arrive, without waiting for any.
    pub(crate) fn poll(&self) {
        if let Err(error) = self.device.poll(wgpu::PollType::Poll) {
            self.fail(GpuError::Lost(error.to_string()));
        }
    }

    /// Waits until all that was submitted is done. Not for a frame.
    pub(crate) fn wait(&self) {
        if let Err(error) = self.device.poll(wgpu::PollType::wait_indefinitely()) {
            self.fail(GpuError::Lost(error.to_string()));
        }
    }

    /// Maximum number of bytes of a buffer that a pass binds.
    pub(crate) fn largest_buffer(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_buffer_size.min(limits.max_storage_buffer_binding_size)
    }

    /// Creates the buffers of all batches, `bytes` each.
    ///
    /// # Errors
    /// They are more than allowed, or more than the device has.
    pub(crate) fn slots<T>(
        &self,
        options: BatchOptions,
        bytes: u64,
        create: impl Fn() -> T,
    ) -> Result<Vec<T>, GpuError> {
        let count = options.batches.max(1);
        let all = bytes.saturating_mul(count as u64);
        let error = || GpuError::OutOfMemory { device: self.name.to_string(), bytes: all };
        if all > options.max_bytes {
            return Err(error());
        }
        let mut slots = Vec::with_capacity(count);
        for _ in 0..count {
            if let Some(failure) = self.failure() {
                return Err(failure);
            }
            let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
            let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
            slots.push(create());
            let errors = [pollster::block_on(validation.pop()), pollster::block_on(memory.pop())];
            if errors.into_iter().any(|error| error.is_some()) {
                return Err(error());
            }
        }
        Ok(slots)
    }
}

/// Keeps the first failure.
fn note(failure: &Mutex<Option<GpuError>>, error: GpuError) {
    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}
