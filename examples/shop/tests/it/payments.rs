//! One order and one charge, whatever is sent twice, lost or killed.

use serde_json::{Value, json};

use crate::world::{ADA, BOB, Told, World};

fn is_paid(order: &Value) -> bool {
    order["state"] == "paid"
}

#[test]
fn a_double_click_is_one_order_and_one_charge() {
    let world = World::start(&[]);
    let clicks: Vec<Told> = std::thread::scope(|scope| {
        let clicks: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| world.pay("p-1", "rope")))
            .collect();
        clicks
            .into_iter()
            .map(|click| click.join().unwrap())
            .collect()
    });
    let first = &clicks[0];
    for click in &clicks {
        assert_eq!(
            (click.status, &click.location, &click.text),
            (202, &first.location, &first.text)
        );
    }
    let ran = clicks
        .iter()
        .filter(|click| click.mark.as_deref() == Some("executed"));
    assert_eq!(ran.count(), 1, "{clicks:?}");
    let order = world.until(first.location.as_ref().unwrap(), is_paid);
    assert_eq!(
        (&order["cents"], &order["text"]),
        (&json!(12_900), &json!("Paid. Thank you."))
    );
    // Much later the answer is still that of then.
    assert_eq!(world.pay("p-1", "rope").text, first.text);
    assert_eq!(world.books()["calls"], 1);
    assert_eq!(world.taken(), [12_900]);
}

#[test]
fn a_time_out_after_the_charge_is_asked_about_and_charged_once() {
    let world = World::start(&["take_then_hang"]);
    let paid = world.pay("p-1", "rope").location.unwrap();
    world.until(&paid, is_paid);
    let books = world.books();
    assert_eq!(books["calls"], 1, "{books}");
    assert!(books["questions"].as_u64().unwrap() >= 1, "{books}");
    assert_eq!(world.taken(), [12_900]);
}

#[test]
fn while_nobody_knows_the_customer_is_told_so_and_then_it_is_charged_once() {
    let world = World::start(&["hang"]);
    let paid = world.pay("p-1", "rope").location.unwrap();
    let honest = |order: &Value| {
        assert_eq!(order["state"], "placed", "{order}");
        let text = order["text"].as_str().unwrap();
        text.starts_with("We do not know yet whether it")
            || text.starts_with("We are asking whether")
    };
    world.until(&paid, honest);
    let vietnamese = world.get(ADA, &paid, "vi").json();
    assert!(
        !vietnamese["text"].as_str().unwrap().contains("We"),
        "{vietnamese}"
    );
    world.until(&paid, is_paid);
    assert_eq!(world.books()["calls"], 2);
    assert_eq!(world.taken(), [12_900]);
}

#[test]
fn killed_between_the_commit_and_the_charge_it_charges_once() {
    let mut world = World::start(&["503"; 100]);
    let ordered = world.pay("p-1", "rope");
    assert_eq!(ordered.status, 202, "{ordered:?}");
    world.until_books(|books| books["calls"].as_u64().unwrap() >= 1);
    world.kill();
    assert_eq!(world.taken(), [0; 0]);
    world.script("charges", json!([]));
    world.restart();
    let again = world.pay("p-1", "rope");
    assert_eq!(
        (again.mark.as_deref(), &again.text),
        (Some("replayed"), &ordered.text)
    );
    world.until(&ordered.location.unwrap(), is_paid);
    assert_eq!(world.taken(), [12_900]);
}

#[test]
fn killed_while_the_charge_is_out_it_asks_and_does_not_charge_again() {
    let mut world = World::start(&["take_then_hang"]);
    let paid = world.pay("p-1", "rope").location.unwrap();
    world.until_books(|books| !books["taken"].as_object().unwrap().is_empty());
    world.kill();
    world.restart();
    world.until(&paid, is_paid);
    assert_eq!(world.books()["calls"], 1);
    assert_eq!(world.taken(), [12_900]);
}

#[test]
fn a_declined_card_is_an_outcome_that_stays_and_no_dead_letter() {
    let world = World::start(&["402"]);
    let paid = world.pay("p-1", "rope").location.unwrap();
    let order = world.until(&paid, |order| order["state"] == "declined");
    assert_eq!(order["text"], "Your bank declined, and nothing was taken.");
    assert_eq!(world.pay("p-1", "rope").mark.as_deref(), Some("replayed"));
    assert_eq!(world.books()["calls"], 1);
    assert_eq!(world.taken(), [0; 0]);
}

#[test]
fn a_charge_that_cannot_be_made_waits_for_a_person_and_is_made_then() {
    let world = World::start(&["400"]);
    let paid = world.pay("p-1", "rope").location.unwrap();
    let order = world.until(&paid, |order| {
        order["text"].as_str().unwrap().contains("looking")
    });
    assert_eq!(
        order["text"],
        "It could not be done; we are looking into it."
    );
    let dead = world.operators("GET", "/v1/jobs?state=dead", &json!(null));
    let job = dead["jobs"][0]["id"].as_str().unwrap();
    let why = json!({ "reason": "the merchant is registered" });
    world.operators("POST", &format!("/v1/jobs/{job}/replay"), &why);
    world.until(&paid, is_paid);
    assert_eq!(world.taken(), [12_900]);
}

#[test]
fn what_is_no_order_is_refused() {
    let world = World::start(&[]);
    let rope = json!({ "product": "rope" });
    let error = |told: &Told| (told.status, told.error.clone().unwrap_or_default());
    let unkeyed = world.post(ADA, "/payments", None, &rope);
    assert_eq!(error(&unkeyed), (400, "key-missing".to_owned()));
    assert_eq!(
        world
            .post("nobody-knows-this-token", "/payments", Some("k"), &rope)
            .status,
        401
    );
    let unsold = world.pay("p-1", "boat");
    assert_eq!(error(&unsold), (422, "rolled-back".to_owned()));
    // Nothing of it happened, so its key is free for what was meant.
    let paid = world.pay("p-1", "rope");
    assert_eq!((paid.status, paid.mark.as_deref()), (202, Some("executed")));
    let other = world.pay("p-1", "chalk");
    assert_eq!(error(&other), (422, "key-reused".to_owned()));
    world.until(paid.location.as_ref().unwrap(), is_paid);
    assert_eq!(world.taken(), [12_900]);
}

#[test]
fn a_key_and_an_order_are_their_customers_own() {
    let world = World::start(&[]);
    let hers = world.pay("p-1", "rope");
    let his = world.post(
        BOB,
        "/payments",
        Some("p-1"),
        &json!({ "product": "chalk" }),
    );
    assert_eq!((his.status, his.mark.as_deref()), (202, Some("executed")));
    assert_ne!(hers.location, his.location);
    let (hers, his) = (hers.location.unwrap(), his.location.unwrap());
    assert_eq!(world.get(ADA, &his, "en").status, 404);
    assert_eq!(world.get(BOB, &hers, "en").status, 404);
    world.until(&hers, is_paid);
}
