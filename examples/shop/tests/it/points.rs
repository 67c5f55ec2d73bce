//! Points for what was bought, once for each order, whatever is delivered twice.

use std::sync::Arc;

use serde_json::{Value, json};
use shop::events::{PAID, PLACED};
use shop::loyalty::Loyalty;
use surefoot::core::id::{MessageId, Tenant};
use surefoot::core::port::Messages;
use surefoot::{NodeClock, Sink};
use surefoot_store::sqlite::SqliteStore;

use crate::world::World;

fn points(promised: u64, earned: u64) -> impl Fn(&Value) -> bool {
    move |shown| *shown == json!({ "promised": promised, "earned": earned })
}

#[test]
fn points_are_promised_with_the_order_and_earned_with_its_payment() {
    let world = World::start(&["hang", "402"]);
    world.pay("p-1", "rope");
    world.until("/points", points(129, 0));
    world.until("/points", points(0, 0));
    world.pay("p-2", "harness");
    world.until("/points", points(0, 54));
}

#[test]
fn an_event_that_is_delivered_again_adds_its_points_once() {
    let world = World::start(&[]);
    let paid = world.pay("p-1", "rope").location.unwrap();
    world.until("/points", points(0, 129));
    let order = paid.rsplit('/').next().unwrap();
    // As by a relay that died each time before it could write down that the message had arrived.
    let again = async {
        let store = SqliteStore::open(world.database()).await.unwrap();
        let clock = Arc::new(NodeClock::measured(&store).await.unwrap());
        let loyalty = Loyalty::open(store.clone(), clock).await.unwrap();
        for topic in [PLACED, PAID, PAID] {
            let id = MessageId::new(format!("{topic}:{order}")).unwrap();
            let ada = Tenant::new("ada").unwrap();
            let message = store.message(&ada, &id).await.unwrap().unwrap().message;
            let proof = loyalty.deliver(message).await.unwrap();
            assert!(
                proof.as_str().starts_with("counted before"),
                "{topic}: {proof:?}"
            );
        }
    };
    tokio::runtime::Runtime::new().unwrap().block_on(again);
    let shown = world.show("/points");
    assert!(points(0, 129)(&shown), "{shown}");
}

#[test]
fn a_shop_that_is_killed_again_and_again_loses_and_repeats_nothing() {
    const ORDERS: u64 = 30;
    let mut world = World::start(&[]);
    let mut ordered = Vec::new();
    for number in 0..ORDERS {
        let told = world.pay(&format!("p-{number}"), "chalk");
        ordered.push(told.location.unwrap());
        if number % 7 == 6 {
            world.kill();
            world.restart();
        }
    }
    for order in &ordered {
        world.until(order, |order| order["state"] == "paid");
    }
    world.until("/points", points(0, ORDERS * 7));
    assert_eq!(world.taken(), vec![700; 30]);
}
