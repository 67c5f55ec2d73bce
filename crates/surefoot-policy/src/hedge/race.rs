//! Runs an attempt and, when it is slow, a second one beside it. The first success wins and the other is dropped
//! at once; a failure waits for the other, so a fast failure never beats a good answer.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// What came of the two.
pub(crate) struct Race<T, E> {
    /// The success, or the failure that came last.
    pub(crate) result: Result<T, E>,
    /// The failure of the other one, when both failed or it failed first.
    pub(crate) other: Option<E>,
}

/// Runs `first`; after `wait` it asks `second` for a second attempt, which may be refused. While only the first
/// has run, its result is final.
pub(crate) async fn race<T, E, A, B>(
    first: A,
    wait: Duration,
    second: impl FnOnce() -> Option<B>,
) -> Race<T, E>
where
    A: Future<Output = Result<T, E>>,
    B: Future<Output = Result<T, E>>,
{
    let mut first = pin!(first);
    if let Ok(result) = tokio::time::timeout(wait, first.as_mut()).await {
        return Race {
            result,
            other: None,
        };
    }
    let Some(second) = second() else {
        return Race {
            result: first.await,
            other: None,
        };
    };
    let mut second = pin!(second);
    let (mut first_failed, mut second_failed) = (None, None);
    std::future::poll_fn(|cx| {
        if first_failed.is_none()
            && let Poll::Ready(result) = first.as_mut().poll(cx)
        {
            match result {
                Ok(value) => {
                    return Poll::Ready(Race {
                        result: Ok(value),
                        other: second_failed.take(),
                    });
                }
                Err(error) => first_failed = Some(error),
            }
        }
        if second_failed.is_none()
            && let Poll::Ready(result) = second.as_mut().poll(cx)
        {
            match result {
                Ok(value) => {
                    return Poll::Ready(Race {
                        result: Ok(value),
                        other: first_failed.take(),
                    });
                }
                Err(error) => second_failed = Some(error),
            }
        }
        match (first_failed.take(), second_failed.take()) {
            (Some(first), Some(second)) => Poll::Ready(Race {
                result: Err(first),
                other: Some(second),
            }),
            (first, second) => {
                (first_failed, second_failed) = (first, second);
                Poll::Pending
            }
        }
    })
    .await
}
