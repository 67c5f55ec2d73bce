//! The connections, so that a handler can cut the one that it answers on: HTTP above cannot reset TCP below.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// What is to become of the next bytes that are written to a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Wire(Arc<AtomicU8>);

const WHOLE: u8 = 0;
const RESET: u8 = 1;
const CUT: u8 = 2;
const GONE: u8 = 3;

impl Wire {
    /// The next write resets the connection instead.
    pub(super) fn reset(&self) {
        self.0.store(RESET, Ordering::SeqCst);
    }

    /// The next write sends half of its bytes; then the connection is closed.
    pub(super) fn cut(&self) {
        self.0.store(CUT, Ordering::SeqCst);
    }
}

/// One connection.
pub(super) struct Line {
    stream: TcpStream,
    wire: Wire,
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize>> {
        match self.wire.0.load(Ordering::SeqCst) {
            WHOLE => Pin::new(&mut self.stream).poll_write(cx, buf),
            CUT => {
                let half = &buf[..buf.len().div_ceil(2)];
                let written = Pin::new(&mut self.stream).poll_write(cx, half);
                if written.is_ready() {
                    self.wire.0.store(GONE, Ordering::SeqCst);
                }
                written
            }
            RESET => {
                // With no time to linger, closing the socket sends RST in place of FIN.
                self.stream.set_zero_linger()?;
                Poll::Ready(Err(Error::from(ErrorKind::ConnectionReset)))
            }
            _ => Poll::Ready(Err(Error::from(ErrorKind::BrokenPipe))),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.wire.0.load(Ordering::SeqCst) == RESET {
            // A FIN first would tell the peer of an orderly end.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Accepts connections whose wires can be cut.
pub(super) struct Lines(pub(super) TcpListener);

impl Listener for Lines {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        let (stream, peer) = Listener::accept(&mut self.0).await;
        (
            Line {
                stream,
                wire: Wire::default(),
            },
            peer,
        )
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, Lines>> for Wire {
    fn connect_info(stream: IncomingStream<'_, Lines>) -> Self {
        stream.io().wire.clone()
    }
}
