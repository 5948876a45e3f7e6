//! A thread on which all requests run, so that callers need no runtime and may have one.

use std::future::Future;
use std::io;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// The thread. Dropping it ends it, with everything that runs there.
#[derive(Debug)]
pub(crate) struct Background {
    handle: Handle,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub fn start() -> io::Result<Background> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        let run = move || {
            // An error means that the sender is gone, which is an end, too.
            let _ = runtime.block_on(ended);
        };
        let thread = thread::Builder::new().name("terravox-s3".to_owned()).spawn(run)?;
        Ok(Background { handle, end: Some(end), thread: Some(thread) })
    }

    /// Runs a request and waits for its result.
    ///
    /// # Errors
    /// If it panicked.
    pub fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        let (sender, result) = mpsc::sync_channel(1);
        self.spawn(async move {
            // Who waits is there until it arrives.
            let _ = sender.send(request.await);
        });
        result.recv().map_err(|_| io::Error::other("the thread of the requests has failed"))
    }

    /// Runs a task without waiting for it.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.handle.spawn(task).abort_handle()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.end.take());
        // The last to go may be an upload on that very thread, which then ends by itself.
        let is_other =
            |thread: &JoinHandle<()>| thread.thread().id() != std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(is_other) {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
