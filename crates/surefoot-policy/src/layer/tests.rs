//! The layer around services that misbehave, and what goes over the wire.

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use tower::{Layer, Service, ServiceExt, service_fn};

use super::*;
use crate::error::{Kind, Rejection};
use crate::retry::BackoffOptions;
use crate::{Dependency, Policy};

fn dependency(change: impl FnOnce(&mut Policy)) -> Dependency {
    let mut policy = Policy::default();
    policy.budget.enabled = false;
    policy.retry.backoff =
        BackoffOptions::exponential(Duration::from_millis(1), Duration::from_millis(2));
    change(&mut policy);
    Dependency::new("psp", policy).unwrap()
}

/// A body that is read once.
#[derive(Debug)]
struct Stream;

impl Replay for Stream {
    fn again(&self) -> Option<Self> {
        None
    }
}

type Seen = Arc<Mutex<Vec<HeaderMap>>>;

/// A service that answers with these statuses in turn and keeps the headers it was sent.
#[expect(
    clippy::type_complexity,
    reason = "the type of a closure has no shorter name"
)]
fn answering<B>(
    statuses: &'static [u16],
) -> (
    impl Service<
        Request<B>,
        Response = Response<u32>,
        Error = Infallible,
        Future = Ready<Result<Response<u32>, Infallible>>,
    > + Clone
    + Sync,
    Seen,
)
where
    B: Send + 'static,
{
    let seen: Seen = Arc::default();
    let keep = Arc::clone(&seen);
    let service = service_fn(move |request: Request<B>| {
        let mut seen = keep.lock().unwrap();
        let status = statuses[seen.len().min(statuses.len() - 1)];
        seen.push(request.headers().clone());
        ready(Ok(Response::builder()
            .status(status)
            .body(seen.len() as u32)
            .unwrap()))
    });
    (service, seen)
}

fn request<B>(method: &str, body: B) -> Request<B> {
    Request::builder()
        .method(method)
        .uri("http://psp/charges")
        .header("x-own", "1")
        .body(body)
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_may_be_repeated_is_and_what_may_not_is_not() {
    let (plain, honoured) = (HttpPlan::new(), HttpPlan::deduplicating());
    for (plan, method, key, statuses, sends) in [
        (plain, "GET", false, &[500, 200][..], 2),
        (plain, "DELETE", false, &[502, 200], 2),
        (plain, "POST", false, &[500, 200], 1),
        (plain, "POST", false, &[503, 200], 2),
        // A key that is sent is not yet one that is honoured.
        (plain, "POST", true, &[500, 200], 1),
        (plain, "POST", true, &[503, 200], 2),
        (honoured, "POST", true, &[500, 200], 2),
        (honoured, "POST", false, &[500, 200], 1),
        (plain, "PATCH", false, &[504, 200], 1),
        (plain, "GET", false, &[501, 200], 1),
        (plain, "GET", false, &[404, 200], 1),
    ] {
        let (service, seen) = answering(statuses);
        let protected = Protect::new(dependency(|_| {}), plan).layer(service);
        let mut request = request(method, "body");
        if key {
            request
                .headers_mut()
                .insert("idempotency-key", "k1".parse().unwrap());
        }
        let answer = protected.oneshot(request).await.unwrap();
        assert_eq!(*answer.body(), sends, "{method} {statuses:?}");
        assert_eq!(seen.lock().unwrap().len() as u32, sends);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stays_a_failure_is_given_back_as_it_is() {
    let (service, _) = answering(&[503]);
    let protected = Protect::new(dependency(|_| {}), HttpPlan::new()).layer(service);
    let answer = protected.oneshot(request("GET", ())).await.unwrap();
    assert_eq!((answer.status().as_u16(), *answer.body()), (503, 3));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_can_be_read_once_is_sent_once_and_that_is_no_error() {
    for (statuses, status) in [(&[200_u16][..], 200), (&[503, 200], 503)] {
        let (service, seen) = answering(statuses);
        let protected = Protect::new(dependency(|_| {}), HttpPlan::new()).layer(service);
        let answer = protected.oneshot(request("PUT", Stream)).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), seen.lock().unwrap().len()),
            (status, 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_its_own_headers_and_they_do_not_pile_up() {
    let (service, seen) = answering(&[500, 500, 200]);
    let protected = Protect::new(dependency(|_| {}), HttpPlan::new()).layer(service);
    protected.oneshot(request("GET", ())).await.unwrap();
    let seen = seen.lock().unwrap();
    for (index, headers) in seen.iter().enumerate() {
        assert_eq!(headers["x-retry-attempt"], (index + 1).to_string());
        assert_eq!(headers["x-retry-owner"], "psp");
        assert_eq!(headers["x-request-timeout-ms"], "5000");
        assert_eq!(headers.len(), 4, "{headers:?}");
    }
}

/// A service that is ready for one at a time and keeps its place from readiness on, like a connection pool.
#[derive(Clone)]
struct OneAtATime(Arc<AtomicU32>, bool);

impl Service<Request<()>> for OneAtATime {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Ready<Result<Response<()>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        if !self.1 {
            self.1 = self
                .0
                .compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok();
        }
        if self.1 {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        self.1 = false;
        self.0.store(0, Ordering::SeqCst);
        ready(Ok(Response::new(())))
    }
}

#[tokio::test(start_paused = true)]
async fn a_clone_that_was_made_ready_and_left_idle_starves_nobody() {
    let protected = Protect::new(
        dependency(|policy| policy.bulkhead.limit = 1),
        HttpPlan::new(),
    )
    .layer(OneAtATime(Arc::default(), false));
    let mut idle = protected.clone();
    idle.ready().await.unwrap();
    let answer = protected.oneshot(request("GET", ())).await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_never_gets_ready_is_ended_by_the_time_out() {
    let busy = OneAtATime(Arc::new(AtomicU32::new(1)), false);
    let started = tokio::time::Instant::now();
    let protected = Protect::new(
        dependency(|policy| policy.retry.attempts_max = 1),
        HttpPlan::new(),
    )
    .layer(busy);
    let error = protected.oneshot(request("GET", ())).await.unwrap_err();
    assert!(matches!(error.kind(), Kind::TimedOut(_)));
    assert_eq!(started.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_comes_as_an_answer_and_never_through_readiness() {
    let dependency = dependency(|_| {});
    dependency.force(crate::breaker::Force::Open);
    let service = service_fn(|_: Request<()>| pending::<Result<Response<()>, Infallible>>());
    let mut protected = Protect::new(dependency.clone(), HttpPlan::new()).layer(service);
    for _ in 0..3 {
        let error = protected
            .ready()
            .await
            .unwrap()
            .call(request("GET", ()))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Rejected(Rejection::ForcedOpen));
    }
}

#[test]
fn retry_after_is_read_by_the_clock_of_the_answer() {
    let read = |pairs: &[(&'static str, &'static str)]| {
        let map = pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        retry_after(&map.collect::<HeaderMap>())
    };
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(
        read(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date]),
        Some(Duration::from_secs(30))
    );
    assert_eq!(
        read(&[("retry-after", "7"), date]),
        Some(Duration::from_secs(7))
    );
    assert_eq!(read(&[("retry-after", "-5"), date]), None);
    assert_eq!(
        read(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")]),
        Some(Duration::ZERO)
    );
    let odd = read(&[
        ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
        ("date", "12"),
    ]);
    assert_eq!(odd, Some(Duration::ZERO), "a date that is a number is none");
    assert_eq!(read(&[date]), None);
}
