//! Requests whose outcome nobody knows, and those who are asked about them.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use surefoot_core::effect::VerifyPlan;
use surefoot_core::request::{Kept, Request, RequestState, RequestVerdict, StoredResponse};
use surefoot_http::{AskNobody, Reconcile, Reconciler, ReconcilerOptions, Round, RoutePolicy};
use surefoot_testkit::{Fault, Verb};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Front, answer, front, post, seconds};

/// Says the same whenever it is asked, and notes the keys.
#[derive(Clone)]
struct Says(RequestVerdict, Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Reconcile for Says {
    async fn ask(&self, request: &Request) -> RequestVerdict {
        self.1
            .lock()
            .unwrap()
            .push(request.identity.key.to_string());
        self.0.clone()
    }
}

fn says(verdict: RequestVerdict) -> Says {
    Says(verdict, Arc::default())
}

/// A front whose handler does not know what became of its work.
fn doubtful() -> Front {
    doubtful_by(RoutePolicy::default())
}

fn doubtful_by(policy: RoutePolicy) -> Front {
    front(policy, |_| async {
        let mut response = answer(504, "");
        let told = surefoot_http::Told::Unknown("no answer".to_owned());
        response.extensions_mut().insert(told);
        response
    })
}

fn reconciler(front: &Front, hook: impl Reconcile, plan: VerifyPlan) -> Reconciler {
    let options = ReconcilerOptions {
        plan,
        ..ReconcilerOptions::default()
    };
    let requests = front.faults.requests(Arc::new(front.store.clone()));
    Reconciler::new(Arc::new(requests), front.clock.clone(), hook, options).unwrap()
}

fn happened() -> RequestVerdict {
    RequestVerdict::Happened(Kept::Response(StoredResponse {
        status: 201,
        headers: Vec::new(),
        body: b"found".to_vec(),
    }))
}

#[tokio::test(start_paused = true)]
async fn what_happened_is_completed_once_and_replayed() {
    let front = doubtful();
    front.post("k").await;
    let hook = says(happened());
    let reconciler = reconciler(&front, hook.clone(), VerifyPlan::default());
    let expected = Round {
        completed: 1,
        ..Round::default()
    };
    assert_eq!(reconciler.round().await.unwrap(), expected);
    assert_eq!(reconciler.round().await.unwrap(), Round::default());
    assert_eq!(*hook.1.lock().unwrap(), ["k"]);
    let got = front.post("k").await;
    assert_eq!(
        (got.marks(), &got.body[..]),
        ((201, Some("replayed"), None), &b"found"[..])
    );
    assert_eq!(front.ran(), 1);
}

/// What was just sent may still take effect: "did not happen" counts only when it must have settled.
#[tokio::test(start_paused = true)]
async fn what_did_not_happen_is_released_when_it_has_settled_and_runs_with_the_next_arrival() {
    let front = doubtful();
    front.post("k").await;
    let reconciler = reconciler(
        &front,
        says(RequestVerdict::DidNotHappen),
        VerifyPlan::default(),
    );
    let early = reconciler.round().await.unwrap();
    assert_eq!((early.open, early.released), (1, 0));
    assert_eq!(front.post("k").await.status, 409);
    tokio::time::advance(seconds(600)).await;
    assert_eq!(reconciler.round().await.unwrap().released, 1);
    assert_eq!(front.ran(), 1, "it never runs by itself");
    front.post("k").await;
    assert_eq!(front.ran(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ended_without_a_word_is_asked_about() {
    let front = doubtful();
    for _ in 0..1000 {
        front.faults.next(Verb::WriteRequest, Fault::Before);
    }
    front.post("k").await;
    front.guard.drain(seconds(100)).await;
    // What is left of the faults keeps reconcilers out as well.
    for _ in 0..1000 {
        if front.faults.counts(Verb::WriteRequest).before == 1000 {
            break;
        }
        let reconciler = reconciler(&front, AskNobody, VerifyPlan::default());
        assert_eq!(reconciler.round().await.unwrap().lapsed, 0);
    }
    assert!(matches!(
        front.state("k").await,
        Some(RequestState::Claimed { .. })
    ));
    let round = reconciler(&front, says(happened()), VerifyPlan::default())
        .round()
        .await
        .unwrap();
    assert_eq!((round.lapsed, round.completed), (1, 1));
    assert_eq!(
        front.post("k").await.header("idempotency-status"),
        Some("replayed")
    );
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_can_be_asked_a_person_decides_and_no_retry_is_promised() {
    let front = doubtful();
    front.post("k").await;
    let round = reconciler(&front, AskNobody, VerifyPlan::default())
        .round()
        .await
        .unwrap();
    assert_eq!(round.needs_human, 1);
    let got = front.post("k").await;
    assert_eq!(got.marks(), (409, None, Some("outcome-unknown")));
    assert_eq!(got.header("retry-after"), None);
    assert_eq!(
        reconciler(&front, AskNobody, VerifyPlan::default())
            .round()
            .await
            .unwrap(),
        Round::default()
    );
}

/// Questions end, also where the one who is asked never answers.
#[tokio::test(start_paused = true)]
async fn questions_are_bounded_in_time_and_number() {
    struct Silent;
    #[async_trait]
    impl Reconcile for Silent {
        async fn ask(&self, _: &Request) -> RequestVerdict {
            std::future::pending().await
        }
    }
    let front = doubtful();
    front.post("k").await;
    let plan = VerifyPlan {
        asks_max: 3,
        ..VerifyPlan::default()
    };
    let reconciler = reconciler(&front, Silent, plan);
    let mut open = 0;
    for _ in 0..1000 {
        let round = reconciler.round().await.unwrap();
        open += round.open;
        if round.needs_human == 1 {
            assert_eq!(open, 2);
            return;
        }
        tokio::time::advance(seconds(60)).await;
    }
    panic!("it never ended");
}

/// Asks at the same moment as another one.
struct Meets(RequestVerdict, Arc<tokio::sync::Barrier>);

#[async_trait]
impl Reconcile for Meets {
    async fn ask(&self, _: &Request) -> RequestVerdict {
        self.1.wait().await;
        self.0.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn two_reconcilers_settle_a_request_once() {
    let front = doubtful();
    front.post("k").await;
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let of = |verdict| reconciler(&front, Meets(verdict, both.clone()), VerifyPlan::default());
    let (one, two) = (of(happened()), of(RequestVerdict::NeedsHuman("?".into())));
    let (one, two) = tokio::join!(one.round(), two.round());
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.completed + two.needs_human, 1);
    assert_eq!(one.outrun + two.outrun, 1);
}

/// Says that it happened, but for the keys that begin with `hangs`, about which it never answers, and `panics`.
struct Hangs;

#[async_trait]
impl Reconcile for Hangs {
    async fn ask(&self, request: &Request) -> RequestVerdict {
        let key = request.identity.key.as_str();
        assert!(!key.starts_with("panics"), "a fault of the hook");
        if key.starts_with("hangs") {
            return std::future::pending().await;
        }
        happened()
    }
}

/// How many of these keys are settled.
async fn settled(front: &Front, keys: &[String]) -> usize {
    let mut settled = 0;
    for key in keys {
        let state = front.state(key).await;
        settled += usize::from(matches!(state, Some(RequestState::Finished { .. })));
    }
    settled
}

/// Questions that get no answer take the room of their own operation only, and what comes due beside them is not kept waiting:
/// the first of them is given up after 10 s.
#[tokio::test(start_paused = true)]
async fn a_question_that_never_returns_holds_up_no_other() {
    let front = doubtful();
    let of_other = |key: &str| {
        let mut request = post(key, "{}");
        *request.uri_mut() = "/payments/7".parse().unwrap();
        request
    };
    // More than are asked at once in all.
    for number in 0..120 {
        front.ask(of_other(&format!("hangs-{number}"))).await;
    }
    front.post("hangs").await;
    let keys: Vec<String> = (0..30).map(|number| format!("k{number}")).collect();
    for key in &keys {
        front.post(key).await;
    }
    let stop = CancellationToken::new();
    let reconciler = reconciler(&front, Hangs, VerifyPlan::default());
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { reconciler.run(stop).await }
    });
    tokio::time::sleep(seconds(2)).await;
    assert_eq!(settled(&front, &keys).await, 30);
    front.post("late").await;
    tokio::time::sleep(seconds(2)).await;
    assert_eq!(settled(&front, &["late".to_owned()]).await, 1);
    // What hangs is given up each time, and a person decides in the end.
    tokio::time::sleep(seconds(48 * 3600)).await;
    let state = front.state("hangs").await;
    assert!(
        matches!(state, Some(RequestState::NeedsHuman { .. })),
        "{state:?}"
    );
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_says_nothing_and_ends_nothing() {
    let front = doubtful();
    front.post("panics").await;
    front.post("k").await;
    let reconciler = reconciler(&front, Hangs, VerifyPlan::default());
    let round = reconciler.round().await.unwrap();
    assert_eq!((round.open, round.completed), (1, 1));
    let state = front.state("panics").await;
    assert!(
        matches!(state, Some(RequestState::Unknown { asked: 1, .. })),
        "{state:?}"
    );
}

/// A store that takes the question and never answers is one that is away.
#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_given_up_and_asked_again() {
    let front = doubtful();
    front.post("k").await;
    let reconciler = reconciler(&front, says(happened()), VerifyPlan::default());
    for verb in [Verb::DueRequests, Verb::WriteRequest] {
        front.faults.next(verb, Fault::Delay(seconds(3600)));
        let begun = tokio::time::Instant::now();
        match reconciler.round().await {
            Ok(round) => assert_eq!((verb, round.open), (Verb::WriteRequest, 1)),
            Err(error) => assert!(error.is_transient() && verb == Verb::DueRequests),
        }
        assert_eq!(begun.elapsed().as_secs(), 5, "{verb:?}");
    }
    assert_eq!(reconciler.round().await.unwrap().completed, 1);
}

/// A route may ask less often than the others: its plan decides when a person is needed.
#[tokio::test(start_paused = true)]
async fn each_route_is_asked_about_by_its_own_plan() {
    let once = VerifyPlan {
        asks_max: 1,
        ..VerifyPlan::default()
    };
    for (asks, needs_human) in [(Some(once), 1), (None, 0)] {
        let policy = RoutePolicy {
            asks,
            ..RoutePolicy::default()
        };
        let front = doubtful_by(policy);
        front.post("k").await;
        let unknown = says(RequestVerdict::StillUnknown { ask_again_in: None });
        let reconciler = front
            .guard
            .reconciler(unknown, ReconcilerOptions::default());
        let round = reconciler.unwrap().round().await.unwrap();
        assert_eq!(
            (round.needs_human, round.open),
            (needs_human, 1 - needs_human)
        );
    }
}

/// The plan of the reconciler is checked against the routes that go by it, when it is set up.
#[tokio::test(start_paused = true)]
async fn a_plan_that_contradicts_a_route_is_refused() {
    let short = VerifyPlan {
        give_up_after: seconds(60),
        ..VerifyPlan::default()
    };
    for (asks, is_sound) in [(None, false), (Some(VerifyPlan::default()), true)] {
        let policy = RoutePolicy {
            asks,
            ..RoutePolicy::default()
        };
        let options = ReconcilerOptions {
            plan: short.clone(),
            ..ReconcilerOptions::default()
        };
        let made = doubtful_by(policy).guard.reconciler(AskNobody, options);
        assert_eq!(made.is_ok(), is_sound, "{made:?}");
    }
}
