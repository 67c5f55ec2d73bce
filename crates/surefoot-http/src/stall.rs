//! A stream that fails when its reader stands still. Without it a client that asks and never reads would hold its
//! connection, and the answer in memory, for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream whose writes fail once none of them got on for a while.
#[derive(Debug)]
pub struct StallGuard<T> {
    stream: T,
    patience: Duration,
    /// When the present wait is over; it runs only while `waiting`.
    over: Pin<Box<Sleep>>,
    waiting: bool,
}

impl<T> StallGuard<T> {
    /// Guards a stream; `patience` is how long its writes may stand still.
    pub fn new(stream: T, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            over: Box::pin(tokio::time::sleep(patience)),
            waiting: false,
        }
    }

    /// What the stream said, unless it has been saying `Pending` for too long.
    fn judge<R>(
        &mut self,
        answer: Poll<io::Result<R>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<R>> {
        if answer.is_ready() {
            self.waiting = false;
            return answer;
        }
        if !self.waiting {
            self.waiting = true;
            self.over.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.over.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client does not read",
        )))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for StallGuard<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for StallGuard<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.judge(answer, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.judge(answer, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(answer, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(answer, cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stands_still_ends_the_stream() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let mut guard = StallGuard::new(ours, PATIENCE);
        let began = Instant::now();
        let error = guard.write_all(&[0; 65]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_that_gets_on_is_served() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let mut guard = StallGuard::new(ours, PATIENCE);
        let reader = tokio::spawn(async move {
            let mut total = 0;
            while total < 64 * 10 {
                tokio::time::sleep(PATIENCE - Duration::from_secs(1)).await;
                total += theirs.read(&mut [0; 64]).await.unwrap();
            }
        });
        guard.write_all(&[0; 64 * 10]).await.unwrap();
        reader.await.unwrap();
    }
}
