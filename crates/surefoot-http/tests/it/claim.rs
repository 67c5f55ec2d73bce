//! One key, one run: storms, mismatches, tenants, and those who wait.

use http::Request;
use surefoot_core::request::{Keep, RequestPolicy};
use surefoot_http::{BearerTenants, Need, RoutePolicy, Told};
use surefoot_testkit::{Fault, Verb};
use tokio::task::JoinSet;

use crate::fixture::{Front, answer, front, front_for, numbered, post, seconds, tenant};

async fn storm(front: &Front, many: usize) -> Vec<(u16, Option<String>)> {
    let mut all = JoinSet::new();
    for _ in 0..many {
        let front = front.clone();
        all.spawn(async move {
            let got = front.post("storm").await;
            let (status, mark, _) = got.marks();
            (status, mark.map(str::to_owned))
        });
    }
    all.join_all().await
}

#[tokio::test(start_paused = true)]
async fn of_a_hundred_at_once_one_runs() {
    let front = front(RoutePolicy::default(), |_| async {
        tokio::time::sleep(seconds(1)).await;
        answer(201, "done")
    });
    let told = storm(&front, 100).await;
    let count = |status: u16, mark: Option<&str>| {
        let wanted = (status, mark.map(str::to_owned));
        told.iter().filter(|told| **told == wanted).count()
    };
    assert_eq!(front.ran(), 1);
    assert_eq!((count(201, Some("executed")), count(409, None)), (1, 99));
}

#[tokio::test(start_paused = true)]
async fn who_waits_gets_the_answer_and_never_runs() {
    let policy = RoutePolicy {
        wait: seconds(5),
        ..RoutePolicy::default()
    };
    let front = front(policy, |_| async {
        tokio::time::sleep(seconds(2)).await;
        answer(201, "done")
    });
    let told = storm(&front, 100).await;
    let replayed = told
        .iter()
        .filter(|(status, mark)| *status == 201 && mark.as_deref() == Some("replayed"));
    assert_eq!((front.ran(), replayed.count()), (1, 99));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_short_ends_in_a_conflict() {
    let policy = RoutePolicy {
        wait: seconds(5),
        ..RoutePolicy::default()
    };
    let front = front(policy, |_| async {
        tokio::time::sleep(seconds(6)).await;
        answer(201, "done")
    });
    let first = tokio::spawn({
        let front = front.clone();
        async move { front.post("k").await }
    });
    tokio::task::yield_now().await;
    let second = front.post("k").await;
    assert_eq!(second.marks(), (409, None, Some("outstanding")));
    assert_eq!(first.await.unwrap().marks(), (201, Some("executed"), None));
    assert_eq!(front.ran(), 1);
}

/// The same where the run is on another node.
#[tokio::test(start_paused = true)]
async fn who_waits_on_another_node_gets_the_answer_and_never_runs() {
    let policy = |wait| RoutePolicy {
        wait: seconds(wait),
        ..RoutePolicy::default()
    };
    let front = front(policy(0), |_| async {
        tokio::time::sleep(seconds(2)).await;
        answer(201, "done")
    });
    let first = tokio::spawn({
        let front = front.clone();
        async move { front.post("storm").await }
    });
    tokio::task::yield_now().await;
    let other = front.beside(policy(1));
    let told = storm(&other, 10).await;
    assert_eq!(told, vec![(409, None); 10]);
    let other = front.beside(policy(5));
    let told = storm(&other, 10).await;
    assert_eq!(told, vec![(201, Some("replayed".to_owned())); 10]);
    assert_eq!(first.await.unwrap().status, 201);
    assert_eq!((front.ran(), other.ran()), (1, 0));
}

/// Whoever looked for the others may go away: one of them is the next first, and they do not all ask at once.
#[tokio::test(start_paused = true)]
async fn when_the_first_of_a_storm_goes_away_another_is_the_first() {
    let front = front(RoutePolicy::default(), |_| async { answer(201, "done") });
    assert_eq!(front.post("storm").await.status, 201);
    front.faults.next(Verb::Request, Fault::Delay(seconds(2)));
    front.faults.next(Verb::Begin, Fault::Delay(seconds(2)));
    let first = tokio::spawn({
        let front = front.clone();
        async move { front.post("storm").await }
    });
    tokio::task::yield_now().await;
    let leave = async {
        tokio::time::sleep(seconds(1)).await;
        first.abort();
    };
    let (told, ()) = tokio::join!(storm(&front, 1000), leave);
    assert_eq!(told, vec![(201, Some("replayed".to_owned())); 1000]);
    assert_eq!(front.ran(), 1);
    let asked = [Verb::Begin, Verb::Request].map(|verb| front.faults.counts(verb).calls);
    assert_eq!(asked, [2, 1]);
}

/// A storm is one question to the store, however large it is, and also when the store is away.
#[tokio::test(start_paused = true)]
async fn a_storm_asks_the_store_once() {
    let front = front(RoutePolicy::default(), |_| async {
        tokio::time::sleep(seconds(1)).await;
        answer(201, "done")
    });
    front.faults.next(Verb::Begin, Fault::Delay(seconds(2)));
    storm(&front, 1000).await;
    assert_eq!(
        (front.ran(), front.faults.counts(Verb::Begin).calls),
        (1, 1)
    );
    let asked = || [Verb::Begin, Verb::Request].map(|verb| front.faults.counts(verb).calls);
    front.faults.next(Verb::Request, Fault::Delay(seconds(2)));
    let told = storm(&front, 1000).await;
    assert_eq!(told, vec![(201, Some("replayed".to_owned())); 1000]);
    assert_eq!(asked(), [1, 1]);

    front.faults.next(Verb::Request, Fault::Before);
    for _ in 0..3 {
        front.faults.next(Verb::Begin, Fault::Before);
    }
    let told = storm(&front, 1000).await;
    assert_eq!(told, vec![(503, None); 1000]);
    assert_eq!(front.guard.drain(seconds(10)).await, 0);
    assert_eq!(
        asked(),
        [4, 3],
        "the claim that may have been made is looked for"
    );
}

/// Another request under the key is never answered from what this node is doing.
#[tokio::test(start_paused = true)]
async fn a_mismatch_is_told_also_while_the_other_runs() {
    let front = front(RoutePolicy::default(), |_| async {
        tokio::time::sleep(seconds(2)).await;
        answer(201, "done")
    });
    let first = tokio::spawn({
        let front = front.clone();
        async move { front.post("k").await }
    });
    tokio::task::yield_now().await;
    let other = front.ask(post("k", "{\"amount\":2}")).await;
    assert_eq!(other.marks(), (422, None, Some("key-reused")));
    assert_eq!(first.await.unwrap().status, 201);
}

/// What is released while somebody waits runs with the next arrival, not with the one that waited.
#[tokio::test(start_paused = true)]
async fn who_waits_does_not_run_what_was_released() {
    let policy = RoutePolicy {
        wait: seconds(5),
        request: RequestPolicy {
            keep: Keep::UnlessNothingHappened,
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    };
    let front = front(policy, |_| async {
        tokio::time::sleep(seconds(2)).await;
        let mut response = answer(503, "full");
        let told = Told::NothingHappened("full".to_owned());
        response.extensions_mut().insert(told);
        response
    });
    let first = tokio::spawn({
        let front = front.clone();
        async move { front.post("k").await }
    });
    tokio::task::yield_now().await;
    let second = front.post("k").await;
    assert_eq!(second.marks(), (409, None, Some("outstanding")));
    assert_eq!(first.await.unwrap().status, 503);
    assert_eq!(front.ran(), 1);
    front.post("k").await;
    assert_eq!(front.ran(), 2);
}

#[tokio::test(start_paused = true)]
async fn another_request_under_the_key_names_what_differs_and_no_value() {
    let front = front(RoutePolicy::default(), numbered());
    assert_eq!(
        front
            .ask(post("k", "{\"amount\":1,\"to\":\"secret-a\"}"))
            .await
            .status,
        201
    );
    let other = front
        .ask(post("k", "{\"amount\":2,\"to\":\"secret-b\"}"))
        .await;
    assert_eq!(other.marks(), (422, None, Some("key-reused")));
    assert_eq!(
        other.json()["fields"],
        serde_json::json!(["body.amount", "body.to"])
    );
    assert!(!String::from_utf8_lossy(&other.body).contains("secret"));
    let route = Request::post("/payments/7").header("idempotency-key", "k");
    let route = front
        .ask(
            route
                .body("{\"amount\":1,\"to\":\"secret-a\"}".into())
                .unwrap(),
        )
        .await;
    assert_eq!(route.status, 422);
    let query = Request::post("/payments?dry_run=1").header("idempotency-key", "k");
    let query = front
        .ask(
            query
                .body("{\"amount\":1,\"to\":\"secret-a\"}".into())
                .unwrap(),
        )
        .await;
    assert_eq!(query.status, 422);
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn spellings_of_one_body_are_one_request_and_large_numbers_are_two() {
    let front = front(RoutePolicy::default(), numbered());
    for (body, expected) in [
        ("{\"a\":9007199254740993,\"b\":2}", Some("executed")),
        ("{ \"b\" : 2, \"a\" : 9007199254740993 }", Some("replayed")),
        ("{\"a\":9007199254740992,\"b\":2}", None),
    ] {
        let got = front.ask(post("k", body)).await;
        assert_eq!(got.header("idempotency-status"), expected, "{body}");
    }
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn tenants_do_not_see_one_another() {
    let tokens = [
        ("token-of-tenant-a", tenant("a")),
        ("token-of-tenant-b", tenant("b")),
        ("newer-token-of-a-", tenant("a")),
    ];
    let front = front_for(
        BearerTenants::new(tokens).unwrap(),
        RoutePolicy::default(),
        numbered(),
    );
    let ask = async |token: Option<&str>| {
        let mut request = post("k", "{}");
        if let Some(token) = token {
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", value);
        }
        front.ask(request).await
    };
    assert_eq!(ask(Some("token-of-tenant-a")).await.body, "run 1");
    assert_eq!(ask(Some("token-of-tenant-b")).await.body, "run 2");
    let renewed = ask(Some("newer-token-of-a-")).await;
    assert_eq!(
        (renewed.marks(), &renewed.body[..]),
        ((201, Some("replayed"), None), &b"run 1"[..])
    );
    assert_eq!(ask(None).await.marks(), (401, None, Some("tenant-unknown")));
    assert_eq!(ask(Some("token-of-nobody--")).await.status, 401);
    assert_eq!(front.ran(), 2);
}

#[tokio::test(start_paused = true)]
async fn another_key_is_another_intent_whatever_its_body() {
    let front = front(RoutePolicy::default(), numbered());
    assert_eq!(front.post("a").await.body, "run 1");
    assert_eq!(front.post("b").await.body, "run 2");
}

#[tokio::test(start_paused = true)]
async fn too_many_at_once_are_refused_before_anything_runs() {
    let front = front(RoutePolicy::default(), |_| async {
        tokio::time::sleep(seconds(1)).await;
        answer(200, "")
    });
    let mut all = JoinSet::new();
    for number in 0..4100 {
        let front = front.clone();
        all.spawn(async move { front.post(&format!("k{number}")).await.marks().0 });
    }
    let told = all.join_all().await;
    let busy = told.iter().filter(|status| **status == 503).count();
    assert_eq!((busy, front.ran()), (4, 4096));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_guarded_runs_each_time() {
    let front = front(RoutePolicy::default(), numbered());
    let plain = || Request::post("/payments").body("{}".into()).unwrap();
    for _ in 0..2 {
        assert_eq!(front.ask(plain()).await.marks(), (201, None, None));
    }
    let off = front_of(Need::Off);
    for _ in 0..2 {
        assert_eq!(off.post("k").await.marks(), (201, Some("ignored"), None));
    }
    assert_eq!((front.ran(), off.ran()), (2, 2));
}

pub(crate) fn front_of(need: Need) -> Front {
    let policy = RoutePolicy {
        need,
        ..RoutePolicy::default()
    };
    front(policy, numbered())
}
