//! A connection whose peer has to read what is written to it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A TCP connection. Writing fails once the peer has read nothing for some time: otherwise a peer
/// that requests something large and does not read would hold a connection forever.
pub(crate) struct PatientStream {
    stream: TcpStream,
    patience: Duration,
    /// Runs while something waits to be written.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl PatientStream {
    pub fn new(stream: TcpStream, patience: Duration) -> PatientStream {
        PatientStream { stream, patience, deadline: None }
    }

    /// Returns the result of a write, or an error if it took too long.
    fn wait<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let patience = self.patience;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        deadline.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for PatientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wait(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.wait(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // TCP has nothing to flush: success says nothing about what waits to be written.
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.wait(shut, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::runtime::Builder;

    /// Writes 64 MiB to a peer that reads so many bytes, and waits for the end.
    fn write_to_peer_that_reads(bytes: u64, patience: Duration) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let mut peer = TcpStream::connect(listener.local_addr()?).await?;
            let (stream, _) = listener.accept().await?;
            let mut stream = PatientStream::new(stream, patience);
            let write = async move {
                stream.write_all(&vec![7; 64 << 20]).await?;
                stream.shutdown().await
            };
            let read = async move {
                let mut taken = (&mut peer).take(bytes);
                tokio::io::copy(&mut taken, &mut tokio::io::sink()).await?;
                Ok::<_, io::Error>(peer)
            };
            let (written, peer) = tokio::join!(write, read);
            drop(peer?);
            written
        })
    }

    #[test]
    fn a_peer_that_stops_reading_ends_the_connection() {
        let [short, long] = [100, 60_000].map(Duration::from_millis);
        let error = write_to_peer_that_reads(1000, short).expect_err("nothing is taken any more");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // One that reads may be stopped for a moment, with all of this machine.
        assert!(write_to_peer_that_reads(64 << 20, long).is_ok());
    }
}
