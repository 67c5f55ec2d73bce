//! The relay in virtual time over the store in memory: what is delivered, how often, in which order, and what is left when
//! something breaks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::id::{Actor, MessageId, OrderKey, SinkName, Tenant, Topic};
use surefoot::core::message::{
    DeliveryPolicy, DeliveryState, DeliveryStateName, Message, Proof, Topics,
};
use surefoot::core::payload::Payload;
use surefoot::core::port::{Appended, By, DeliveryId, DeliverySteered, Messages, Since};
use surefoot::core::time::{Clock, Timestamp};
use surefoot::{
    Failure, Relay, RelayBuilder, RelayDrained, RelayEvent, RelayObserver, RelayOptions,
    RelayStartError, Sink,
};
use surefoot_testkit::{Fault, FaultRates, FaultyStore, MemoryStore, TokioClock, Verb};
use tokio::time::{Instant, sleep};

const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What a sink was given, and when.
type Given = Arc<Mutex<Vec<(String, Instant)>>>;

struct World {
    clock: Arc<dyn Clock>,
    memory: MemoryStore,
    given: Given,
    events: Arc<Mutex<Vec<String>>>,
}

impl RelayObserver for World {
    fn on(&self, event: &RelayEvent<'_>) {
        let line = match event {
            RelayEvent::Delivered { message, proof, .. } => {
                format!("delivered {message} {}", proof.as_str())
            }
            RelayEvent::Failed {
                message,
                failed,
                unknown,
                ..
            } => format!("failed {message} {failed}{}", doubt(*unknown)),
            RelayEvent::Parked {
                message,
                error,
                unknown,
                ..
            } => format!("parked {message} {error}{}", doubt(*unknown)),
            RelayEvent::StaleMark { message, .. } => format!("stale {message}"),
            RelayEvent::MarkDropped { message, .. } => format!("dropped {message}"),
            RelayEvent::StoreError { verb, .. } => format!("store {verb}"),
        };
        self.events.lock().unwrap().push(line);
    }
}

fn doubt(unknown: bool) -> &'static str {
    if unknown { ", or not" } else { "" }
}

impl World {
    fn new() -> Arc<Self> {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::starting_at(START));
        Arc::new(Self {
            memory: MemoryStore::new(clock.clone()),
            clock,
            given: Given::default(),
            events: Arc::default(),
        })
    }

    fn relay(self: &Arc<Self>) -> RelayBuilder {
        self.relay_over(Arc::new(self.memory.clone()))
    }

    fn relay_over(self: &Arc<Self>, messages: Arc<dyn Messages>) -> RelayBuilder {
        let options = RelayOptions {
            seed: Some(7),
            ..RelayOptions::default()
        };
        Relay::over(Arc::new(self.memory.clone()), messages)
            .observer(self.clone())
            .options(options)
    }

    /// A sink that notes what it is given, and answers as `answer` says.
    fn sink<F, Fut>(&self, answer: F) -> impl Sink + use<F, Fut>
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Proof, Failure>> + Send + 'static,
    {
        let given = self.given.clone();
        move |message: Message| {
            let id = message.id.as_str().to_owned();
            given.lock().unwrap().push((id.clone(), Instant::now()));
            answer(id)
        }
    }

    fn given(&self) -> Vec<String> {
        self.given
            .lock()
            .unwrap()
            .iter()
            .map(|(id, _)| id.clone())
            .collect()
    }

    fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    async fn append(&self, messages: &[Message]) {
        let appended = self.memory.append(messages).await.unwrap();
        assert!(
            appended
                .iter()
                .all(|one| matches!(one, Appended::Written(_)))
        );
    }

    /// The state of the delivery of a message to the sink `s`.
    async fn state(&self, id: &str) -> DeliveryState {
        let (tenant, id) = (Tenant::single(), MessageId::new(id).unwrap());
        let record = self.memory.message(&tenant, &id);
        record.await.unwrap().unwrap().deliveries[0].state.clone()
    }

    async fn is(&self, id: &str, name: DeliveryStateName) -> bool {
        self.state(id).await.name() == name
    }
}

fn message(id: &str, key: Option<&str>) -> Message {
    Message {
        id: MessageId::new(id).unwrap(),
        tenant: Tenant::single(),
        topic: Topic::new("order.paid").unwrap(),
        key: key.map(|key| OrderKey::new(key).unwrap()),
        payload: Payload::null(),
        trace: None,
        appended_at: START,
    }
}

/// Messages named `KEY-NUMBER`, each under its key.
fn of_keys(ids: &[&str]) -> Vec<Message> {
    ids.iter()
        .map(|id| message(id, id.split('-').next()))
        .collect()
}

/// Tries again after five seconds, three times in all.
fn policy() -> DeliveryPolicy {
    DeliveryPolicy {
        attempts_max: 3,
        backoff: Backoff::List {
            delays: vec![s(5)],
            jitter: Jitter::None,
        },
        ..DeliveryPolicy::default()
    }
}

fn with(builder: RelayBuilder, policy: DeliveryPolicy, sink: impl Sink) -> RelayBuilder {
    builder.sink_with("s", Topics::All, Since::Kept, policy, sink)
}

async fn fine(_id: String) -> Result<Proof, Failure> {
    Ok(Proof::new("kept"))
}

#[tokio::test(start_paused = true)]
async fn what_is_appended_is_delivered_at_once_and_has_its_proof() {
    let world = World::new();
    let relay = world
        .relay()
        .sink("s", Topics::All, world.sink(fine))
        .start()
        .await
        .unwrap();
    sleep(s(60)).await;
    let begun = Instant::now();
    relay.append(&of_keys(&["a-1", "a-2"])).await.unwrap();
    relay.append(&[message("x", None)]).await.unwrap();
    sleep(Duration::from_millis(1)).await;
    let mut given = world.given();
    given.sort();
    assert_eq!(given, ["a-1", "a-2", "x"]);
    let latest = world.given.lock().unwrap().last().unwrap().1;
    assert!(
        latest - begun < Duration::from_millis(5),
        "no poll was waited for"
    );
    let DeliveryState::Delivered { proof, .. } = world.state("a-2").await else {
        panic!("it is delivered")
    };
    assert_eq!(proof.as_str(), "kept");
    assert_eq!(relay.drain().await, RelayDrained::default());
}

#[tokio::test(start_paused = true)]
async fn what_nobody_woke_it_for_is_found_by_the_next_look() {
    let world = World::new();
    let _relay = world
        .relay()
        .sink("s", Topics::All, world.sink(fine))
        .start()
        .await
        .unwrap();
    sleep(s(60)).await;
    world.append(&[message("x", None)]).await;
    sleep(s(2)).await;
    assert_eq!(world.given(), ["x"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_try_holds_up_its_key_and_no_other() {
    let world = World::new();
    let fails = Arc::new(AtomicUsize::new(2));
    let sink = world.sink(move |id| {
        let fails = fails.clone();
        async move {
            let left = fails.load(Ordering::SeqCst);
            if id == "a-1" && left > 0 {
                fails.store(left - 1, Ordering::SeqCst);
                return Err(Failure::transient("reset"));
            }
            fine(id).await
        }
    });
    world.append(&of_keys(&["a-1", "b-1", "a-2", "b-2"])).await;
    let _relay = with(world.relay(), policy(), sink).start().await.unwrap();
    sleep(s(4)).await;
    assert_eq!(world.given(), ["a-1", "b-1", "b-2"]);
    sleep(s(12)).await;
    assert_eq!(
        world.given(),
        ["a-1", "b-1", "b-2", "a-1", "a-1", "a-2"],
        "order-kept"
    );
    let failed: Vec<_> = world
        .events()
        .into_iter()
        .filter(|e| e.starts_with("failed"))
        .collect();
    assert_eq!(failed, ["failed a-1 1", "failed a-1 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_bad_message_is_parked_and_a_person_decides() {
    let world = World::new();
    let mended = Arc::new(AtomicUsize::new(0));
    let sink = world.sink({
        let mended = mended.clone();
        move |id| {
            let mended = mended.load(Ordering::SeqCst) > 0;
            async move {
                match id.as_str() {
                    "a-1" if !mended => Err(Failure::permanent("no such account")),
                    "b-1" => Err(Failure::transient("reset")),
                    _ => fine(id).await,
                }
            }
        }
    });
    world
        .append(&of_keys(&["a-1", "a-2", "b-1", "b-2", "c-1"]))
        .await;
    let relay = with(world.relay(), policy(), sink).start().await.unwrap();
    sleep(s(100)).await;
    let tries = |id: &str| world.given().iter().filter(|given| *given == id).count();
    let all = ["a-1", "a-2", "b-1", "b-2", "c-1"];
    assert_eq!(
        all.map(tries),
        [1, 0, 3, 0, 1],
        "permanent is tried once, temporary as often as set"
    );
    let parked = world.memory.parked(None, None, 9).await.unwrap();
    let told: Vec<_> = parked
        .iter()
        .map(|one| (one.error.as_str(), one.failed))
        .collect();
    assert_eq!(told, [("no such account", 1), ("reset", 3)]);
    assert!(
        world
            .events()
            .contains(&"parked a-1 no such account".to_owned())
    );
    mended.store(1, Ordering::SeqCst);
    let by = By {
        actor: Actor::new("ada").unwrap(),
        reason: "account made".into(),
    };
    let now = world.clock.now();
    let again = world
        .memory
        .again(&parked[0].delivery, &by, now)
        .await
        .unwrap();
    let skip = world
        .memory
        .skip(&parked[1].delivery, &by, now)
        .await
        .unwrap();
    assert_eq!(
        (again, skip),
        (DeliverySteered::Done, DeliverySteered::Done)
    );
    relay.wake();
    sleep(s(1)).await;
    assert_eq!(all.map(tries), [2, 1, 3, 1, 1], "those behind go on");
    assert!(world.is("b-1", DeliveryStateName::Skipped).await);
}

#[tokio::test(start_paused = true)]
async fn a_silent_sink_and_one_that_panics_are_tried_again() {
    let world = World::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let sink = world.sink(move |id| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move {
            match call {
                0 => std::future::pending().await,
                1 => panic!("on purpose"),
                _ => fine(id).await,
            }
        }
    });
    world.append(&[message("x", None)]).await;
    let _relay = with(world.relay(), policy(), sink).start().await.unwrap();
    sleep(s(12)).await;
    let DeliveryState::Waiting {
        error: Some(error), ..
    } = world.state("x").await
    else {
        panic!("it waits")
    };
    assert_eq!(error.as_str(), "no answer within 10s");
    sleep(s(5)).await;
    let DeliveryState::Waiting {
        error: Some(error), ..
    } = world.state("x").await
    else {
        panic!("it waits")
    };
    assert_eq!(error.as_str(), "the sink panicked");
    sleep(s(6)).await;
    assert!(world.is("x", DeliveryStateName::Delivered).await);
    assert_eq!(
        world.events(),
        [
            "failed x 1, or not",
            "failed x 2, or not",
            "delivered x kept"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_are_delivered_at_once_than_the_policy_says() {
    let world = World::new();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let sink = {
        let (now, most) = (now.clone(), most.clone());
        world.sink(move |id| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(s(1)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                fine(id).await
            }
        })
    };
    let messages: Vec<_> = (0..20)
        .map(|number| message(&format!("x-{number}"), None))
        .collect();
    world.append(&messages).await;
    let narrow = DeliveryPolicy {
        concurrency: 4,
        ..policy()
    };
    let begun = Instant::now();
    let _relay = with(world.relay(), narrow, sink).start().await.unwrap();
    while !world.is("x-19", DeliveryStateName::Delivered).await {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(most.load(Ordering::SeqCst), 4);
    assert!(
        begun.elapsed() < s(6),
        "who has room takes the next at once: {:?}",
        begun.elapsed()
    );
    assert_eq!(world.given().len(), 20, "no-double-effect");
}

#[tokio::test(start_paused = true)]
async fn a_backlog_is_taken_without_a_rest() {
    let world = World::new();
    let messages: Vec<_> = (0..250)
        .map(|number| message(&format!("x-{number}"), None))
        .collect();
    world.append(&messages).await;
    let wide = DeliveryPolicy {
        concurrency: 1000,
        ..policy()
    };
    let silent = world.sink(|_| std::future::pending());
    let _relay = with(world.relay(), wide, silent).start().await.unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(world.given().len(), 250, "no poll was waited for");
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_relay_had_is_delivered_by_another() {
    let world = World::new();
    world.append(&of_keys(&["a-1", "a-2"])).await;
    let silent = world.sink(|_| std::future::pending());
    let lost = with(world.relay(), policy(), silent).start().await.unwrap();
    sleep(s(1)).await;
    assert_eq!(world.given(), ["a-1"]);
    drop(lost);
    let _next = with(world.relay(), policy(), world.sink(fine))
        .start()
        .await
        .unwrap();
    sleep(s(28)).await;
    assert_eq!(world.given(), ["a-1"], "its lease holds");
    sleep(s(4)).await;
    assert_eq!(
        world.given(),
        ["a-1", "a-1", "a-2"],
        "no-lost-intent, order-kept"
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_that_kills_its_relays_is_parked() {
    let world = World::new();
    world.append(&of_keys(&["a-1", "b-1"])).await;
    for _ in 0..10 {
        let silent = world.sink(|id| async move {
            match id.as_str() {
                "a-1" => std::future::pending().await,
                _ => fine(id).await,
            }
        });
        let lost = with(world.relay(), policy(), silent).start().await.unwrap();
        sleep(s(5)).await;
        drop(lost);
        sleep(s(40)).await;
    }
    assert_eq!(world.given().iter().filter(|id| *id == "a-1").count(), 5);
    let DeliveryState::Parked { error, .. } = world.state("a-1").await else {
        panic!("it is parked")
    };
    assert_eq!(
        error.as_str(),
        "its holder was lost 5 times while it was being delivered"
    );
    assert!(world.is("b-1", DeliveryStateName::Delivered).await);
    let told = world.events();
    let parked = told.iter().find(|event| event.starts_with("parked"));
    assert!(
        parked.is_some_and(|event| event.ends_with("delivered, or not")),
        "{told:?}"
    );
}

/// A store that is overloaded for long takes, and its answers come too late: no sink was given anything.
#[tokio::test(start_paused = true)]
async fn takes_whose_answers_are_lost_park_nothing() {
    let world = World::new();
    let faults = FaultyStore::over(Arc::new(world.memory.clone()), 1);
    let faulty = Arc::new(faults.messages(Arc::new(world.memory.clone())));
    world.append(&of_keys(&["a-1", "a-2"])).await;
    let _relay = with(world.relay_over(faulty), policy(), world.sink(fine))
        .start()
        .await
        .unwrap();
    sleep(s(60)).await;
    world.append(&of_keys(&["b-1", "b-2"])).await;
    faults.misbehave(FaultRates {
        after: 1.0,
        ..FaultRates::default()
    });
    sleep(s(600)).await;
    assert_eq!(world.given(), ["a-1", "a-2"], "its answers are lost");
    faults.misbehave(FaultRates::default());
    sleep(s(60)).await;
    assert_eq!(world.given(), ["a-1", "a-2", "b-1", "b-2"]);
    let parked = |event: &String| event.starts_with("parked");
    assert!(!world.events().iter().any(parked), "{:?}", world.events());
    assert_eq!(faults.counts(Verb::Depart).calls, 1, "for b-1 alone");
}

#[tokio::test(start_paused = true)]
async fn what_was_lost_before_leaves_only_when_that_is_on_record() {
    let world = World::new();
    let faults = FaultyStore::over(Arc::new(world.memory.clone()), 1);
    let faulty = Arc::new(faults.messages(Arc::new(world.memory.clone())));
    world.append(&of_keys(&["a-1"])).await;
    let lost = with(
        world.relay(),
        policy(),
        world.sink(|_| std::future::pending()),
    );
    let lost = lost.start().await.unwrap();
    sleep(s(1)).await;
    drop(lost);
    for _ in 0..9 {
        faults.next(Verb::Depart, Fault::Before);
    }
    faults.next(Verb::Depart, Fault::After);
    let _relay = with(world.relay_over(faulty), policy(), world.sink(fine))
        .start()
        .await
        .unwrap();
    sleep(s(38)).await;
    assert_eq!(world.given(), ["a-1"], "not yet for the second time");
    assert!(!world.is("a-1", DeliveryStateName::Delivered).await);
    sleep(s(60)).await;
    assert_eq!(world.given(), ["a-1", "a-1"]);
    assert!(world.is("a-1", DeliveryStateName::Delivered).await);
    assert!(faults.counts(Verb::Depart).calls > 10);
}

/// How many calls of the store there are for so many messages, without keys or under keys of ten.
async fn calls_for(messages: usize, keyed: bool) -> [u64; 2] {
    let world = World::new();
    let faults = FaultyStore::over(Arc::new(world.memory.clone()), 1);
    let faulty = Arc::new(faults.messages(Arc::new(world.memory.clone())));
    let messages: Vec<_> = (0..messages)
        .map(|number| {
            let key = format!("k-{}", number / 10);
            message(&format!("m-{number}"), keyed.then_some(key.as_str()))
        })
        .collect();
    world.append(&messages).await;
    faults.misbehave(FaultRates {
        delay: 1.0,
        delay_max: Duration::from_millis(4),
        ..FaultRates::default()
    });
    let quick = world.sink(|id| async move {
        sleep(Duration::from_millis(fastrand::u64(1..20))).await;
        fine(id).await
    });
    let _relay = with(world.relay_over(faulty), policy(), quick)
        .start()
        .await
        .unwrap();
    sleep(s(20)).await;
    assert_eq!(world.given().len(), messages.len(), "no-double-effect");
    [Verb::Take, Verb::Mark].map(|verb| faults.counts(verb).calls)
}

#[tokio::test(start_paused = true)]
async fn a_call_of_the_store_carries_many_messages() {
    for keyed in [false, true] {
        let [takes, marks] = calls_for(800, keyed).await;
        println!("keyed {keyed}: {takes} takes, {marks} marks");
        assert!(marks < 800 / 2, "{marks} marks");
        assert!(takes < 800 / 2, "{takes} takes");
    }
}

/// A process that was stopped between a take and its calls wakes up when another relay has the key.
#[tokio::test(start_paused = true)]
async fn nothing_leaves_when_the_lease_has_no_room_for_it() {
    let world = World::new();
    let faults = FaultyStore::over(Arc::new(world.memory.clone()), 1);
    let slow = Arc::new(faults.messages(Arc::new(world.memory.clone())));
    world.append(&of_keys(&["a-1"])).await;
    faults.next(Verb::Take, Fault::Late(s(21)));
    let policy = DeliveryPolicy {
        timeout: s(10),
        lease: s(30),
        ..policy()
    };
    let builder = world.relay_over(slow).options(RelayOptions {
        store_timeout: s(60),
        ..RelayOptions::default()
    });
    let _relay = with(builder, policy, world.sink(fine))
        .start()
        .await
        .unwrap();
    sleep(s(20)).await;
    assert!(world.is("a-1", DeliveryStateName::Taken).await);
    sleep(s(4)).await;
    // 9 seconds were left for a call of 10: it was given back, and left under the next lease.
    assert_eq!(faults.counts(Verb::Mark).calls, 2, "no-zombie-write");
    assert_eq!(world.given(), ["a-1"]);
    assert_eq!(world.events(), ["delivered a-1 kept"]);
    assert_eq!(world.memory.message_depth().await.unwrap()[0].waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn a_mark_whose_answer_is_lost_is_repeated_and_delivers_nothing_twice() {
    let world = World::new();
    let faults = FaultyStore::over(Arc::new(world.memory.clone()), 1);
    let faulty = Arc::new(faults.messages(Arc::new(world.memory.clone())));
    for fault in [Fault::Before, Fault::After, Fault::Before] {
        faults.next(Verb::Mark, fault);
    }
    world.append(&of_keys(&["a-1", "a-2"])).await;
    let _relay = with(world.relay_over(faulty), policy(), world.sink(fine))
        .start()
        .await
        .unwrap();
    sleep(s(20)).await;
    assert_eq!(world.given(), ["a-1", "a-2"], "no-double-effect");
    assert!(world.is("a-2", DeliveryStateName::Delivered).await);
}

#[tokio::test(start_paused = true)]
async fn a_drain_lets_a_delivery_end_and_gives_the_rest_back() {
    let world = World::new();
    let slow = world.sink(|id| async move {
        sleep(s(5)).await;
        fine(id).await
    });
    world.append(&of_keys(&["a-1", "a-2", "a-3"])).await;
    let relay = with(world.relay(), policy(), slow).start().await.unwrap();
    sleep(s(1)).await;
    let begun = Instant::now();
    assert_eq!(relay.drain().await, RelayDrained::default());
    assert!(begun.elapsed() < s(5));
    assert_eq!(world.given(), ["a-1"]);
    assert!(world.is("a-1", DeliveryStateName::Delivered).await);
    for id in ["a-2", "a-3"] {
        assert!(
            world.is(id, DeliveryStateName::Waiting).await,
            "at once, and untried"
        );
    }
    world.append(&[message("x", None)]).await;
    relay.wake();
    sleep(s(60)).await;
    assert_eq!(world.given(), ["a-1"], "nothing begins after it");

    let silent = world.sink(|_| std::future::pending());
    let slow = DeliveryPolicy {
        timeout: s(100),
        lease: s(200),
        ..policy()
    };
    let relay = with(world.relay(), slow, silent).start().await.unwrap();
    sleep(s(1)).await;
    assert_eq!(relay.drain().await, RelayDrained { abandoned: 1 });
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_contradicts_itself_does_not_start() {
    let world = World::new();
    let unsound = DeliveryPolicy {
        lease: s(1),
        ..policy()
    };
    let builder = with(world.relay(), unsound, world.sink(fine))
        .sink("s", Topics::All, world.sink(fine))
        .sink("no sink", Topics::All, world.sink(fine))
        .options(RelayOptions {
            poll: Duration::ZERO,
            keep: s(9),
            keep_receipts: s(1),
            ..RelayOptions::default()
        });
    let Err(RelayStartError::Unsound(faults)) = builder.start().await else {
        panic!("it does not start")
    };
    assert_eq!(faults.len(), 5, "{faults:?}");
    let none = world.relay().start().await;
    assert!(matches!(none, Err(RelayStartError::Unsound(_))));
    assert_eq!(
        world.memory.message_depth().await.unwrap(),
        [],
        "no sink was put on record"
    );
}

/// Three relays over a store that loses calls and answers, each killed and started again at random moments.
#[tokio::test(start_paused = true)]
async fn relays_that_die_lose_nothing_and_keep_the_order() {
    for seed in 0..10_u64 {
        let world = World::new();
        let faults = FaultyStore::over(Arc::new(world.memory.clone()), seed);
        let faulty: Arc<dyn Messages> = Arc::new(faults.messages(Arc::new(world.memory.clone())));
        let mut dice = fastrand::Rng::with_seed(seed);
        let ids: Vec<String> = (0..60).map(|n| format!("{}-{n}", dice.u8(0..6))).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let messages = of_keys(&ids);
        let sink = || {
            world.sink(|id| async move {
                let mut dice = fastrand::Rng::new();
                sleep(Duration::from_millis(dice.u64(0..3000))).await;
                match dice.u8(0..10) {
                    0 => Err(Failure::transient("reset")),
                    _ => fine(id).await,
                }
            })
        };
        let often = DeliveryPolicy {
            attempts_max: 1000,
            losses_max: 1000,
            concurrency: 3,
            ..policy()
        };
        let start = || async {
            let builder = with(world.relay_over(faulty.clone()), often.clone(), sink());
            builder.start().await.unwrap()
        };
        let mut relays = vec![start().await, start().await, start().await];
        faults.misbehave(FaultRates {
            before: 0.1,
            after: 0.1,
            ..FaultRates::default()
        });
        let mut kills = 0;
        for (round, part) in messages.chunks(6).enumerate() {
            world.append(part).await;
            sleep(Duration::from_millis(dice.u64(0..4000))).await;
            faults.next_right(Verb::Subscribe);
            relays[round % 3] = start().await;
            kills += 1;
        }
        faults.misbehave(FaultRates::default());
        sleep(s(600)).await;
        let depth = world.memory.message_depth().await.unwrap();
        let open = (depth[0].waiting, depth[0].taken, depth[0].parked);
        assert_eq!(open, (0, 0, 0), "no-lost-intent under seed {seed}");
        let mut first: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for id in world.given() {
            let key = id.split('-').next().unwrap().to_owned();
            let line = first.entry(key).or_default();
            if !line.contains(&id) {
                line.push(id);
            }
        }
        for (key, line) in first {
            let of_key = ids.iter().filter(|id| id.split('-').next() == Some(&*key));
            assert!(
                line.iter().map(String::as_str).eq(of_key.copied()),
                "order-kept under seed {seed}"
            );
        }
        assert!(kills == 10 && world.given().len() >= 60);
        drop(relays);
    }
}

/// Two relays whose clocks drift apart would take one another's leases for over.
#[tokio::test(start_paused = true)]
async fn a_relay_follows_the_clock_of_its_store() {
    let world = World::new();
    let stepped = Arc::new(Stepped(world.clock.clone(), AtomicUsize::new(0)));
    let store = Arc::new(MemoryStore::new(stepped.clone()));
    let relay = Relay::over(store.clone(), store)
        .sink("s", Topics::All, world.sink(fine))
        .start()
        .await
        .unwrap();
    let later = Message {
        appended_at: START.after(s(3600)),
        ..message("x", None)
    };
    relay.append(&[later]).await.unwrap();
    sleep(s(60)).await;
    assert_eq!(world.given(), [""; 0]);
    stepped.1.store(3600, Ordering::SeqCst);
    sleep(s(15)).await;
    assert_eq!(world.given(), ["x"]);
}

/// A clock that somebody set forward by so many seconds.
struct Stepped(Arc<dyn Clock>, AtomicUsize);

impl Clock for Stepped {
    fn now(&self) -> Timestamp {
        let ahead = self.1.load(Ordering::SeqCst);
        self.0.now().after(s(u64::try_from(ahead).unwrap()))
    }
}

#[tokio::test(start_paused = true)]
async fn each_sink_has_its_own_pace() {
    let world = World::new();
    world.append(&of_keys(&["a-1"])).await;
    let stuck = |_: Message| std::future::pending::<Result<Proof, Failure>>();
    let relay = world
        .relay()
        .sink("stuck", Topics::All, stuck)
        .sink(
            "t",
            Topics::named([Topic::new("order.paid").unwrap()]),
            world.sink(fine),
        )
        .sink(
            "u",
            Topics::named([Topic::new("user.left").unwrap()]),
            world.sink(fine),
        )
        .start()
        .await
        .unwrap();
    relay.append(&of_keys(&["a-2"])).await.unwrap();
    sleep(s(1)).await;
    assert_eq!(world.given(), ["a-1", "a-2"]);
    let one = DeliveryId {
        number: world.memory.append(&of_keys(&["a-1"])).await.unwrap()[0].number(),
        sink: SinkName::new("u").unwrap(),
    };
    let by = By {
        actor: Actor::new("ada").unwrap(),
        reason: "none".into(),
    };
    let none = world.memory.skip(&one, &by, START).await.unwrap();
    assert_eq!(none, DeliverySteered::NotFound, "it is of another topic");
}
