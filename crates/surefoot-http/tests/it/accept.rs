//! Requests that become jobs: 202, where to look, and what is left when a node dies in between.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use http::{Request, Response};
use serde::{Deserialize, Serialize};
use surefoot::{Cx, Engine, EngineOptions, Failure, Heartbeat, Intent, Job, JobPolicy};
use surefoot_core::id::{Kind, Tenant, Worker};
use surefoot_core::port::{Requests as _, Store};
use surefoot_core::request::{Clocks, Identity, RequestKey, RequestPolicy, RequestStateName};
use surefoot_core::time::Timestamp;
use surefoot_http::{
    Accept, AcceptRefused, ExtensionTenant, Guard, GuardOptions, IdempotencyLayer, Reconciler,
    ReconcilerOptions, RequestContext, RoutePolicy, Routes, Rule, Wait,
};
use surefoot_testkit::{Fault, FaultyStore, MemoryStore, TokioClock, Verb};
use tower::ServiceExt;

use crate::fixture::{Got, got, seconds, tenant};

#[derive(Serialize, Deserialize)]
struct Essay {
    words: u32,
}

impl Job for Essay {
    const KIND: &'static str = "essay.grade";
    type Output = u32;
}

async fn grade(
    State(accept): State<Accept>,
    Extension(request): Extension<RequestContext>,
    Json(essay): Json<Essay>,
) -> Result<Response<Body>, AcceptRefused> {
    accept.accept(&request, Intent::of(&essay)?).await
}

struct Desk {
    app: Router,
    accept: Accept,
    store: MemoryStore,
    faults: FaultyStore,
    clock: Arc<TokioClock>,
    engine: Engine,
}

fn engine(store: Arc<dyn Store>) -> surefoot::EngineBuilder {
    Engine::over(store).options(EngineOptions {
        heartbeat: Heartbeat::Task,
        worker: Some(Worker::new("node-1").unwrap()),
        ..EngineOptions::default()
    })
}

/// A desk whose jobs take five seconds each.
async fn desk() -> Desk {
    desk_by(Routes::default()).await
}

async fn desk_by(routes: Routes) -> Desk {
    let start = Timestamp::from_micros(1_800_000_000_000_000);
    let clock = Arc::new(TokioClock::starting_at(start));
    let store = MemoryStore::new(clock.clone());
    let faults = FaultyStore::over(Arc::new(store.clone()), 1);
    let run = |essay: Essay, _: Cx| async move {
        tokio::time::sleep(seconds(5)).await;
        if essay.words == 0 {
            return Err(Failure::permanent("there is nothing to grade"));
        }
        Ok(essay.words / 100)
    };
    let engine = engine(Arc::new(faults.clone())).handle(run, JobPolicy::default());
    let engine = engine.start().await.unwrap();
    let options = GuardOptions {
        routes,
        ..GuardOptions::new(Worker::new("node").unwrap())
    };
    let requests = Arc::new(faults.requests(Arc::new(store.clone())));
    let guard = Guard::new(requests, clock.clone(), ExtensionTenant, options).unwrap();
    let kind = Kind::new(Essay::KIND).unwrap();
    let accept = Accept::new(guard.clone(), engine.client().clone(), kind, "/grades").unwrap();
    let wait = Wait {
        unasked: Duration::ZERO,
        max: seconds(8),
    };
    let accept = accept.waiting(wait).unwrap();
    let app = Router::new()
        .route("/grades", post(grade))
        .layer(IdempotencyLayer::new(guard))
        .with_state(accept.clone())
        .merge(accept.routes());
    Desk {
        app,
        accept,
        store,
        faults,
        clock,
        engine,
    }
}

impl Desk {
    async fn send(&self, who: Tenant, mut request: Request<Body>) -> Response<Body> {
        request.extensions_mut().insert(who);
        self.app.clone().oneshot(request).await.unwrap()
    }

    async fn post(&self, key: &str, words: u32) -> Got {
        self.post_preferring(None, key, words).await
    }

    async fn post_preferring(&self, prefer: Option<&str>, key: &str, words: u32) -> Got {
        let request = Request::post("/grades")
            .header("idempotency-key", key)
            .header("content-type", "application/json")
            .header("traceparent", TRACE);
        let request = match prefer {
            Some(prefer) => request.header("prefer", prefer),
            None => request,
        };
        let request = request.body(format!("{{\"words\":{words}}}").into());
        got(self.send(tenant("me"), request.unwrap()).await).await
    }

    async fn get(&self, who: &str, path: &str) -> Got {
        let request = Request::get(path).body(Body::empty()).unwrap();
        got(self.send(tenant(who), request).await).await
    }

    async fn jobs(&self) -> Vec<surefoot_core::job::Job> {
        let all = surefoot_core::port::JobFilter::default();
        let jobs = Store::jobs(&self.store, &all, None, 100);
        jobs.await.unwrap()
    }
}

/// How long finished jobs are kept: the engine's default.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test(start_paused = true)]
async fn a_request_becomes_one_job_that_its_client_follows_to_its_result() {
    let desk = desk().await;
    let first = desk.post("k", 700).await;
    assert_eq!(first.marks(), (202, Some("executed"), None));
    assert_eq!(first.header("retry-after"), Some("2"));
    let location = first.header("location").unwrap().to_owned();
    let again = desk.post("k", 700).await;
    assert_eq!(again.marks(), (202, Some("replayed"), None));
    assert_eq!(again.header("location"), Some(&*location));
    let jobs = desk.jobs().await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].tenant, tenant("me"));
    assert_eq!(jobs[0].trace.as_ref().unwrap().as_str(), TRACE);

    let open = desk.get("me", &location).await;
    assert_eq!(
        (open.status.as_u16(), open.header("retry-after")),
        (200, Some("2"))
    );
    assert_eq!(open.json()["settled"], false);
    for (who, path) in [
        ("you", location.as_str()),
        ("me", "/grades/no-id"),
        ("me", "/grades/01890a5d-ac96-774b-bcce-b302099a8057"),
    ] {
        let told = desk.get(who, path).await;
        assert_eq!(told.marks(), (404, None, Some("not-found")), "{who} {path}");
    }

    // The stream ends by itself once the job is settled.
    let events = desk.get("me", &format!("{location}/events")).await;
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    let text = String::from_utf8(events.body.to_vec()).unwrap();
    let last = text.rsplit("data: ").next().unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(
        (&last["state"], &last["result"]),
        (&"succeeded".into(), &7.into())
    );
    assert!(text.matches("event: job").count() >= 2, "{text}");

    let done = desk.get("me", &location).await;
    assert_eq!(
        (done.header("retry-after"), &done.json()["result"]),
        (None, &7.into())
    );
    assert_eq!(
        desk.post("k", 700).await.marks(),
        (202, Some("replayed"), None)
    );
    desk.engine.drain().await;
}

/// The jobs take five seconds, and eight are the most that is waited.
#[tokio::test(start_paused = true)]
async fn a_client_that_prefers_to_wait_is_told_the_result() {
    let desk = desk().await;
    for (key, prefer, words, status, waited) in [
        ("in-time", Some("wait=7"), 700, 200, 5),
        ("bounded", Some("wait=3600"), 0, 202, 5),
        ("too-short", Some("respond-async, wait=2"), 700, 202, 2),
        ("at-once", Some("respond-async"), 700, 202, 0),
        ("unasked", None, 700, 202, 0),
    ] {
        let begun = tokio::time::Instant::now();
        let told = desk.post_preferring(prefer, key, words).await;
        assert_eq!(told.marks(), (status, Some("executed"), None), "{key}");
        assert_eq!(begun.elapsed().as_secs(), waited, "{key}");
        let location = told.header("location").unwrap();
        let again = desk.post(key, words).await;
        assert_eq!(again.marks(), (status, Some("replayed"), None), "{key}");
        assert_eq!(again.body, told.body, "{key}");
        if status == 200 {
            let looked = desk.get("me", location).await;
            assert_eq!(looked.json(), told.json(), "one document for both");
            assert_eq!(told.json()["result"], 7);
        }
        // No twin of it runs beside the next one.
        tokio::time::sleep(seconds(20)).await;
    }
    desk.engine.drain().await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_bounded_whatever_a_client_prefers() {
    let desk = desk().await;
    desk.engine.drain().await;
    let begun = tokio::time::Instant::now();
    let told = desk.post_preferring(Some("wait=3600"), "k", 700).await;
    assert_eq!(told.status, 202);
    assert_eq!(begun.elapsed().as_secs(), 8);
    let unsound = Wait {
        unasked: seconds(2),
        max: seconds(1),
    };
    let refused = desk.accept.clone().waiting(unsound);
    assert!(matches!(refused, Err(AcceptRefused::Wait(_))));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_failed_is_told_by_its_reason_and_not_by_its_error() {
    let desk = desk().await;
    let location = desk.post("k", 0).await;
    let location = location.header("location").unwrap().to_owned();
    tokio::time::sleep(seconds(10)).await;
    let dead = desk.get("me", &location).await;
    let document = dead.json();
    assert_eq!(
        (&document["state"], &document["settled"]),
        (&"dead".into(), &true.into())
    );
    assert_eq!(document["reason"], "permanent");
    let text = String::from_utf8(dead.body.to_vec()).unwrap();
    assert!(!text.contains("nothing to grade"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_enqueue_whose_answer_was_lost_is_found_by_the_reconciler() {
    let desk = desk().await;
    for took_effect in [true, false] {
        let key = if took_effect { "there" } else { "not-there" };
        let fault = if took_effect {
            Fault::After
        } else {
            Fault::Before
        };
        for _ in 0..3 {
            desk.faults.next(Verb::Enqueue, fault);
        }
        let told = desk.post(key, 700).await;
        assert_eq!(
            told.marks(),
            (503, Some("executed"), Some("outcome-unknown"))
        );
        let options = ReconcilerOptions::default();
        let requests = Arc::new(desk.store.clone());
        let hook = desk.accept.reconcile(KEPT).unwrap();
        let reconciler = Reconciler::new(requests, desk.clock.clone(), hook, options).unwrap();
        let mut rounds = 0;
        while desk.store.request_depth().await.unwrap().unknown > 0 {
            reconciler.round().await.unwrap();
            tokio::time::sleep(Duration::from_secs(5)).await;
            rounds += 1;
            assert!(rounds < 100, "it is settled");
        }
        let told = desk.post(key, 700).await;
        let mark = if took_effect { "replayed" } else { "executed" };
        assert_eq!(told.marks(), (202, Some(mark), None));
        let path = told.header("location").unwrap().to_owned();
        assert_eq!(desk.get("me", &path).await.status, 200);
    }
    assert_eq!(
        desk.jobs().await.len(),
        2,
        "one for each key: no-lost-intent, no-double-effect"
    );
}

/// A job that was done and dropped before anybody asked is not there: its request must not run again for that.
#[tokio::test(start_paused = true)]
async fn a_job_that_may_have_been_dropped_is_no_proof_that_nothing_happened() {
    for (asked_after, state) in [
        (KEPT - seconds(10), RequestStateName::Released),
        (KEPT, RequestStateName::NeedsHuman),
    ] {
        let desk = desk().await;
        for _ in 0..3 {
            desk.faults.next(Verb::Enqueue, Fault::Before);
        }
        desk.post("k", 700).await;
        tokio::time::advance(asked_after).await;
        let hook = desk.accept.reconcile(KEPT).unwrap();
        let (requests, options) = (Arc::new(desk.store.clone()), ReconcilerOptions::default());
        let reconciler = Reconciler::new(requests, desk.clock.clone(), hook, options).unwrap();
        reconciler.round().await.unwrap();
        let identity = Identity {
            tenant: tenant("me"),
            key: RequestKey::new("k").unwrap(),
        };
        let request = desk.store.request(&identity).await.unwrap().unwrap();
        assert_eq!(request.state.name(), state, "{:?}", request.state);
    }
}

/// Kept for less than a run and what settles after it, no missing job could ever prove anything.
#[tokio::test(start_paused = true)]
async fn jobs_that_are_not_kept_for_long_enough_are_refused() {
    let desk = desk().await;
    // 5 min of a run, and 60 s in which it settles.
    let refused = desk.accept.reconcile(seconds(360)).unwrap_err();
    assert!(matches!(refused, AcceptRefused::JobsKept { .. }));
    assert!(refused.to_string().contains("kept for 360s"), "{refused}");
    assert!(desk.accept.reconcile(seconds(361)).is_ok());
}

/// A route whose runs are over before the longest wait: its client is told 202 in time, and never that nobody knows.
#[tokio::test(start_paused = true)]
async fn a_wait_ends_before_the_run_does() {
    let short = RoutePolicy {
        run_max: seconds(4),
        request: RequestPolicy {
            clocks: Clocks {
                lease: seconds(4),
                ..Clocks::default()
            },
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    };
    let routes = Routes {
        other: RoutePolicy::default(),
        rules: vec![Rule {
            method: None,
            route: "/grades".to_owned(),
            policy: short.clone(),
        }],
    };
    let desk = desk_by(routes).await;
    let begun = tokio::time::Instant::now();
    let told = desk.post_preferring(Some("wait=8"), "k", 700).await;
    assert_eq!(told.marks(), (202, Some("executed"), None));
    assert_eq!(begun.elapsed().as_secs(), 3);

    let everywhere = desk_by(Routes::all(RoutePolicy {
        run_max: seconds(9),
        ..short
    }));
    let wait = |max| Wait {
        unasked: Duration::ZERO,
        max,
    };
    let accept = everywhere.await.accept;
    let refused = accept.clone().waiting(wait(seconds(9))).unwrap_err();
    assert!(refused.to_string().contains("wait.max is 9s"), "{refused}");
    assert!(accept.waiting(wait(seconds(8))).is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_accepted_is_told() {
    let desk = desk().await;
    let guard = Guard::new(
        Arc::new(desk.store.clone()),
        desk.clock.clone(),
        ExtensionTenant,
        GuardOptions::new(Worker::new("node").unwrap()),
    );
    let guard = guard.unwrap();
    let kind = Kind::new("other").unwrap();
    for path in ["grades", "/grades/", "/a//b", "/{id}", "/a b", ""] {
        let client = desk.engine.client().clone();
        let made = Accept::new(guard.clone(), client, kind.clone(), path);
        assert!(matches!(made, Err(AcceptRefused::Path(_))), "{path}");
    }
    let client = desk.engine.client().clone();
    let other = Accept::new(guard.clone(), client, kind, "/others").unwrap();
    let app = Router::new()
        .route("/grades", post(grade))
        .layer(IdempotencyLayer::new(guard))
        .with_state(other);
    let desk = Desk { app, ..desk };
    let told = desk.post("k", 700).await;
    let free = Some("nothing-happened");
    assert_eq!(told.marks(), (500, Some("executed"), free));
    assert_eq!(desk.jobs().await.len(), 0);
}
