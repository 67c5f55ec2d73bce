//! The proxy in front of a service that it knows only by HTTP, over real connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::any;
use http::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use surefoot_core::id::Worker;
use surefoot_core::request::{Clocks, Keep, RequestPolicy};
use surefoot_core::time::Timestamp;
use surefoot_http::{
    Guard, GuardOptions, Proxy, ProxyDrained, ProxyOptions, ProxyRefused, Reconciler,
    ReconcilerOptions, RoutePolicy, Routes, SingleTenant, VerifyByUrl,
};
use surefoot_testkit::{MemoryStore, TokioClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Got, answer, got, tenant};

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A proxy before a service that counts what it was asked to do.
struct Stand {
    addr: SocketAddr,
    /// Where the service itself is.
    at: SocketAddr,
    store: MemoryStore,
    clock: Arc<TokioClock>,
    runs: Arc<AtomicUsize>,
    stop: CancellationToken,
    serving: JoinHandle<ProxyDrained>,
}

async fn bound() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

fn guard(store: &MemoryStore, clock: &Arc<TokioClock>, policy: RoutePolicy) -> Guard {
    let mut options = GuardOptions::new(Worker::new("node").unwrap());
    options.routes = Routes::all(policy);
    let requests = Arc::new(store.clone());
    Guard::new(requests, clock.clone(), SingleTenant(tenant("me")), options).unwrap()
}

async fn stand<F, Fut>(policy: RoutePolicy, options: ProxyOptions, run: F) -> Stand
where
    F: Fn(Request<Body>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response<Body>> + Send + 'static,
{
    let (upstream, at) = bound().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let handler = move |request: Request<Body>| {
        counted.fetch_add(1, Ordering::SeqCst);
        run.clone()(request)
    };
    let service = Router::new().fallback(any(handler));
    tokio::spawn(async move { axum::serve(upstream, service).await });
    before(at, policy, options, runs).await
}

async fn before(
    at: SocketAddr,
    policy: RoutePolicy,
    options: ProxyOptions,
    runs: Arc<AtomicUsize>,
) -> Stand {
    let clock = Arc::new(TokioClock::starting_at(Timestamp::from_micros(
        1_700_000_000_000_000,
    )));
    let store = MemoryStore::new(clock.clone());
    let upstream: Uri = format!("http://{at}").parse().unwrap();
    let proxy = Proxy::new(upstream, guard(&store, &clock, policy), options).unwrap();
    let (listener, addr) = bound().await;
    proxy.check_listen(addr).unwrap();
    let stop = CancellationToken::new();
    let serving = tokio::spawn(proxy.serve(listener, stop.clone()));
    Stand {
        addr,
        at,
        store,
        clock,
        runs,
        stop,
        serving,
    }
}

fn keyed(key: &str, body: impl Into<Body>) -> Request<Body> {
    let request = Request::post("/payments").header("idempotency-key", key);
    request.body(body.into()).unwrap()
}

pub(crate) async fn ask(addr: SocketAddr, mut request: Request<Body>) -> Got {
    let path = request.uri().path_and_query().unwrap().as_str();
    *request.uri_mut() = format!("http://{addr}{path}").parse().unwrap();
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let response = client.request(request).await.unwrap();
    got(response.map(Body::new)).await
}

impl Stand {
    async fn ask(&self, request: Request<Body>) -> Got {
        ask(self.addr, request).await
    }

    fn ran(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_storm_through_the_proxy_one_reaches_the_service() {
    let stand = stand(RoutePolicy::default(), ProxyOptions::default(), |_| async {
        tokio::time::sleep(millis(200)).await;
        answer(201, "done")
    })
    .await;
    let mut all = JoinSet::new();
    for _ in 0..100 {
        let addr = stand.addr;
        all.spawn(async move { ask(addr, keyed("k", "{}")).await });
    }
    let told = all.join_all().await;
    let fits = |got: &&Got| {
        matches!(
            got.marks(),
            (201, Some("executed" | "replayed"), None) | (409, None, Some("outstanding"))
        )
    };
    assert_eq!(told.iter().filter(fits).count(), 100);
    let executed = told
        .iter()
        .filter(|got| got.header("idempotency-status") == Some("executed"));
    assert_eq!((stand.ran(), executed.count()), (1, 1));
}

#[tokio::test]
async fn what_goes_on_and_what_ends_at_the_proxy() {
    let stand = stand(
        RoutePolicy::default(),
        ProxyOptions::default(),
        |request: Request<Body>| async move {
            let seen = |name: &str| {
                let value = request.headers().get(name);
                value.map_or("-".to_owned(), |value| value.to_str().unwrap().to_owned())
            };
            let names = [
                "idempotency-key",
                "surefoot-tenant",
                "accept-encoding",
                "x-forwarded-for",
                "te",
                "x-hop",
            ];
            let seen: Vec<String> = names.into_iter().map(seen).collect();
            Response::builder()
                .header("set-cookie", "a=1")
                .header("idempotency-status", "forged")
                .header("content-type", "text/x-seen")
                .body(Body::from(format!("{} {}", request.uri(), seen.join(" "))))
                .unwrap()
        },
    )
    .await;
    let sent = || {
        Request::post("/payments?a=1")
            .header("idempotency-key", "\"k\"")
            .header("surefoot-tenant", "forged")
            .header("accept-encoding", "gzip")
            .header("te", "trailers")
            .header("connection", "x-hop")
            .header("x-hop", "1")
            .body(Body::empty())
            .unwrap()
    };
    let first = stand.ask(sent()).await;
    assert_eq!(first.marks(), (200, Some("executed"), None));
    assert_eq!(first.body, "/payments?a=1 \"k\" me identity 127.0.0.1 - -");
    let again = stand.ask(sent()).await;
    assert_eq!(
        (again.marks(), &again.body),
        ((200, Some("replayed"), None), &first.body)
    );
    assert_eq!(again.header("content-type"), Some("text/x-seen"));
    assert!(first.headers.contains_key("set-cookie") && !again.headers.contains_key("set-cookie"));
    assert_eq!(stand.ran(), 1);
}

#[tokio::test]
async fn what_carries_no_key_streams_through_and_runs_each_time() {
    let stand = stand(
        RoutePolicy::default(),
        ProxyOptions::default(),
        |request: Request<Body>| async move {
            let said = http::HeaderValue::from_static("nothing-happened");
            let mut response = Response::new(request.into_body());
            response.headers_mut().insert("surefoot-outcome", said);
            response
        },
    )
    .await;
    let parts =
        || (0..50).map(|number: u8| Ok::<_, std::io::Error>(Bytes::from(vec![number; 50_000])));
    let whole: Vec<u8> = (0..50).flat_map(|number| vec![number; 50_000]).collect();
    for _ in 0..2 {
        let body = Body::from_stream(futures_util::stream::iter(parts()));
        let got = stand.ask(Request::post("/echo").body(body).unwrap()).await;
        assert!(!got.headers.contains_key("surefoot-outcome"));
        assert_eq!(got.marks(), (200, None, None));
        assert_eq!(got.body, whole);
    }
    assert_eq!(stand.ran(), 2);
}

#[tokio::test]
async fn an_answer_that_is_too_large_reaches_its_client_and_the_service_is_not_asked_again() {
    let large: &'static [u8] = &[9; 3_000_000];
    let stand = stand(
        RoutePolicy::default(),
        ProxyOptions::default(),
        move |_| async move { answer(200, Body::from(large)) },
    )
    .await;
    assert_eq!(stand.ask(keyed("k", "")).await.body, large);
    let again = stand.ask(keyed("k", "")).await;
    assert_eq!(
        again.marks(),
        (409, Some("replayed"), Some("result-not-kept"))
    );
    assert_eq!(again.json()["body_bytes"], 3_000_000);
    assert_eq!(stand.ran(), 1);
}

/// A clock that is short, and a service that is slower than the proxy waits.
fn impatient() -> (RoutePolicy, ProxyOptions) {
    let policy = RoutePolicy {
        request: RequestPolicy {
            clocks: Clocks {
                settles_within: millis(300),
                ..Clocks::default()
            },
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    };
    let options = ProxyOptions {
        connect_timeout: millis(100),
        upstream_timeout: millis(200),
        ..ProxyOptions::default()
    };
    (policy, options)
}

#[tokio::test]
async fn a_service_that_does_not_answer_in_time_is_an_unknown_outcome_and_no_failure() {
    let (policy, options) = impatient();
    let stand = stand(policy, options, |_| async {
        tokio::time::sleep(millis(600)).await;
        answer(201, "late")
    })
    .await;
    let first = stand.ask(keyed("k", "")).await;
    assert_eq!(
        first.marks(),
        (504, Some("executed"), Some("outcome-unknown"))
    );
    for _ in 0..3 {
        let again = stand.ask(keyed("k", "")).await;
        assert_eq!(again.marks(), (409, None, Some("outcome-unknown")));
    }
    assert_eq!(stand.ran(), 1);
}

#[tokio::test]
async fn the_callers_deadline_is_passed_on_and_counts() {
    let stand = stand(
        RoutePolicy::default(),
        ProxyOptions::default(),
        |request: Request<Body>| async move {
            let left = request.headers()["x-request-timeout-ms"]
                .to_str()
                .unwrap()
                .parse::<u64>()
                .unwrap();
            assert!(left <= 300, "{left}");
            std::future::pending().await
        },
    )
    .await;
    let mut request = keyed("k", "");
    request
        .headers_mut()
        .insert("x-request-timeout-ms", "300".parse().unwrap());
    let first = stand.ask(request).await;
    assert_eq!(
        first.marks(),
        (504, Some("executed"), Some("outcome-unknown"))
    );
    assert_eq!(stand.ran(), 1);
}

/// What was never sent did not happen: the same key runs when the service is back.
#[tokio::test]
async fn a_service_that_cannot_be_reached_frees_the_key() {
    let (listener, at) = bound().await;
    drop(listener);
    let runs = Arc::new(AtomicUsize::new(0));
    let stand = before(at, RoutePolicy::default(), ProxyOptions::default(), runs).await;
    let first = stand.ask(keyed("k", "")).await;
    let free = Some("nothing-happened");
    assert_eq!(first.marks(), (502, Some("executed"), free));
    let listener = TcpListener::bind(at).await.unwrap();
    let service = Router::new().fallback(any(|| async { "back" }));
    tokio::spawn(async move { axum::serve(listener, service).await });
    let again = stand.ask(keyed("k", "")).await;
    assert_eq!(
        (again.marks(), &again.body[..]),
        ((200, Some("executed"), None), &b"back"[..])
    );
}

#[tokio::test]
async fn a_service_that_says_that_nothing_happened_is_asked_again() {
    let policy = RoutePolicy {
        request: RequestPolicy {
            keep: Keep::UnlessNothingHappened,
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    };
    let stand = stand(policy, ProxyOptions::default(), |_| async {
        let mut response = answer(503, "full");
        let told = "nothing-happened; the queue is full".parse().unwrap();
        response.headers_mut().insert("surefoot-outcome", told);
        response
    })
    .await;
    for _ in 0..2 {
        let got = stand.ask(keyed("k", "")).await;
        let free = Some("nothing-happened");
        assert_eq!(got.marks(), (503, Some("executed"), free));
        assert!(!got.headers.contains_key("surefoot-outcome"));
    }
    assert_eq!(stand.ran(), 2);
}

/// A service whose answer to the first call is lost, and that can be asked what became of it.
#[tokio::test]
async fn the_service_itself_is_asked_what_became_of_a_request() {
    let (policy, options) = impatient();
    let kept = policy.request.clone();
    let stand = stand(policy, options, |request: Request<Body>| async move {
        if request.uri().path() == "/verify" {
            let key = request.headers()["idempotency-key"]
                .to_str()
                .unwrap()
                .to_owned();
            return Response::builder()
                .status(201)
                .header("surefoot-outcome", "happened")
                .header("location", "/payments/1")
                .body(Body::from(format!("done under {key}")))
                .unwrap();
        }
        std::future::pending().await
    })
    .await;
    assert_eq!(stand.ask(keyed("k", "")).await.status, 504);
    let asks =
        VerifyByUrl::new(format!("http://{}/verify", stand.at).parse().unwrap(), kept).unwrap();
    let options = ReconcilerOptions::default();
    let requests = Arc::new(stand.store.clone());
    let reconciler = Reconciler::new(requests, stand.clock.clone(), asks, options).unwrap();
    assert_eq!(reconciler.round().await.unwrap().completed, 1);
    let got = stand.ask(keyed("k", "")).await;
    assert_eq!(
        (got.marks(), &got.body[..]),
        ((201, Some("replayed"), None), &b"done under \"k\""[..])
    );
    assert_eq!(got.header("location"), Some("/payments/1"));
    assert!(!got.headers.contains_key("surefoot-outcome"));
}

/// A page that is not there proves nothing, and neither does a word that is not one of ours, nor two that contradict: the
/// first of them would free the key of what happened.
#[tokio::test]
async fn an_answer_that_does_not_say_so_proves_nothing() {
    for said in [
        &[][..],
        &["perhaps"],
        &["nothing-happened", "happened"],
        &["nothing-happened, happened"],
    ] {
        let (policy, options) = impatient();
        let kept = policy.request.clone();
        let stand = stand(policy, options, move |request: Request<Body>| async move {
            if request.uri().path() == "/verify" {
                let mut response = answer(404, "no such page");
                for said in said {
                    let said = http::HeaderValue::from_static(said);
                    response.headers_mut().append("surefoot-outcome", said);
                }
                return response;
            }
            std::future::pending().await
        })
        .await;
        assert_eq!(stand.ask(keyed("k", "")).await.status, 504);
        tokio::time::sleep(millis(400)).await;
        let uri = format!("http://{}/verify", stand.at).parse().unwrap();
        let asks = VerifyByUrl::new(uri, kept).unwrap();
        let requests = Arc::new(stand.store.clone());
        let options = ReconcilerOptions::default();
        let reconciler = Reconciler::new(requests, stand.clock.clone(), asks, options).unwrap();
        let round = reconciler.round().await.unwrap();
        assert_eq!(
            (round.open, round.released, round.completed),
            (1, 0, 0),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn a_proxy_that_is_told_to_stop_lets_requests_end() {
    let stand = stand(RoutePolicy::default(), ProxyOptions::default(), |_| async {
        tokio::time::sleep(millis(300)).await;
        answer(201, "done")
    })
    .await;
    let addr = stand.addr;
    let asking = tokio::spawn(async move { ask(addr, keyed("k", "")).await });
    while stand.ran() == 0 {
        tokio::time::sleep(millis(1)).await;
    }
    stand.stop.cancel();
    assert_eq!(asking.await.unwrap().marks(), (201, Some("executed"), None));
    assert_eq!(stand.serving.await.unwrap(), ProxyDrained::default());
    assert!(TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn what_does_not_end_within_the_grace_is_told() {
    let options = ProxyOptions {
        grace: millis(100),
        ..ProxyOptions::default()
    };
    let stand = stand(RoutePolicy::default(), options, |_| std::future::pending()).await;
    let addr = stand.addr;
    let asking = tokio::spawn(async move {
        let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
        let mut request = keyed("k", "");
        *request.uri_mut() = format!("http://{addr}/payments").parse().unwrap();
        client.request(request).await.is_err()
    });
    while stand.ran() == 0 {
        tokio::time::sleep(millis(1)).await;
    }
    stand.stop.cancel();
    let expected = ProxyDrained {
        unknown: 1,
        cut_off: 1,
    };
    assert_eq!(stand.serving.await.unwrap(), expected);
    assert!(asking.await.unwrap());
}

#[tokio::test]
async fn other_machines_are_served_only_where_tenants_are_told_apart() {
    let clock = Arc::new(TokioClock::starting_at(Timestamp::MIN));
    let store = MemoryStore::new(clock.clone());
    let guard = guard(&store, &clock, RoutePolicy::default());
    let make = |upstream: &str| {
        Proxy::new(
            upstream.parse().unwrap(),
            guard.clone(),
            ProxyOptions::default(),
        )
    };
    let proxy = make("http://127.0.0.1:3000").unwrap();
    let everywhere = "0.0.0.0:8080".parse().unwrap();
    assert_eq!(
        proxy.check_listen(everywhere),
        Err(ProxyRefused::Listen(everywhere))
    );
    assert!(proxy.check_listen("[::1]:8080".parse().unwrap()).is_ok());
    for upstream in [
        "https://127.0.0.1:3000",
        "http://127.0.0.1:3000/path",
        "/path",
        "http://a:b@c",
    ] {
        assert!(
            matches!(make(upstream), Err(ProxyRefused::Upstream(_))),
            "{upstream}"
        );
    }
}

/// A service that answers whatever comes with these lines.
async fn saying(lines: &'static str) -> SocketAddr {
    let (upstream, at) = bound().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = upstream.accept().await {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await.unwrap();
            stream.write_all(lines.as_bytes()).await.unwrap();
        }
    });
    at
}

/// 999 says nothing of what became of the request: kept, every repetition would get it as its answer.
#[tokio::test]
async fn a_status_that_is_none_is_an_unknown_outcome_and_is_not_kept() {
    for lines in [
        "HTTP/1.1 999 Odd\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    ] {
        let at = saying(lines).await;
        let (policy, options) = (RoutePolicy::default(), ProxyOptions::default());
        let stand = before(at, policy, options, Arc::default()).await;
        let first = stand.ask(keyed("k", "")).await;
        let unknown = Some("outcome-unknown");
        assert_eq!(first.marks(), (502, Some("executed"), unknown), "{lines}");
        assert_eq!(first.json()["type"], "urn:surefoot:problem:upstream-broken");
        let again = stand.ask(keyed("k", "")).await;
        assert_eq!(again.marks(), (409, None, unknown), "{lines}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_no_word_of_what_happened() {
    let at = saying("HTTP/1.1 999 Odd\r\nsurefoot-outcome: happened\r\ncontent-length: 0\r\n\r\n");
    let (policy, options) = (RoutePolicy::default(), ProxyOptions::default());
    let at = at.await;
    let stand = before(at, policy.clone(), options, Arc::default()).await;
    stand.ask(keyed("k", "")).await;
    let verify = VerifyByUrl::new(format!("http://{at}/").parse().unwrap(), policy.request);
    let reconciler = Reconciler::new(
        Arc::new(stand.store.clone()),
        stand.clock.clone(),
        verify.unwrap(),
        ReconcilerOptions::default(),
    );
    let round = reconciler.unwrap().round().await.unwrap();
    assert_eq!((round.open, round.completed), (1, 0));
}

/// A tunnel would pass by the guard, and what goes through it is nobody's request.
#[tokio::test]
async fn a_tunnel_is_refused_and_the_service_sees_nothing_of_it() {
    let stand = stand(RoutePolicy::default(), ProxyOptions::default(), |_| async {
        answer(200, "reached")
    })
    .await;
    for key in ["", "idempotency-key: k\r\n"] {
        let mut stream = TcpStream::connect(stand.addr).await.unwrap();
        let head = format!("CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n{key}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut told = vec![0; 4096];
        let read = stream.read(&mut told).await.unwrap();
        let told = String::from_utf8_lossy(&told[..read]).to_lowercase();
        assert!(told.starts_with("http/1.1 501"), "{told}");
        assert!(told.contains("idempotency-error: tunnel-refused"), "{told}");
    }
    assert_eq!(stand.ran(), 0);
}
