//! The product page while the recommendation service hangs.

use std::time::Duration;

use serde_json::json;

use crate::world::World;

/// What a page may take on a busy machine: the widget's time-out is 150 ms.
const QUICK: Duration = Duration::from_secs(2);
/// What nearly all pages take, because soon nobody waits for the widget.
const USUAL: Duration = Duration::from_millis(500);

#[test]
fn a_hung_recommendation_service_neither_slows_nor_breaks_the_page() {
    let world = World::start(&[]);
    let (live, _) = world.page("rope");
    assert_eq!(live.json()["recommended_from"], "live");
    assert_eq!(live.json()["recommended"], json!(["goes with rope"]));
    world.script("recommendations", json!("hang"));
    let pages: Vec<_> = std::thread::scope(|scope| {
        let visitors: Vec<_> = (0..10)
            .map(|_| scope.spawn(|| (0..20).map(|_| world.page("chalk")).collect::<Vec<_>>()))
            .collect();
        visitors
            .into_iter()
            .flat_map(|visitor| visitor.join().unwrap())
            .collect()
    });
    let mut took: Vec<Duration> = pages.iter().map(|(_, took)| *took).collect();
    took.sort();
    for (page, took) in &pages {
        assert_eq!(page.status, 200, "{page:?}");
        assert_eq!(page.json()["recommended_from"], "best sellers");
        assert!(*took < QUICK, "{took:?}");
    }
    assert!(took[took.len() * 95 / 100] < USUAL, "{took:?}");
    // What was said before is shown while it is fresh, and payments do not care.
    assert_eq!(
        world.page("rope").0.json()["recommended"],
        json!(["goes with rope"])
    );
    let paid = world.pay("p-1", "rope").location.unwrap();
    world.until(&paid, |order| order["state"] == "paid");
    let asked = world.books()["recommendations"].as_u64().unwrap();
    assert!(asked < 20, "200 pages asked {asked} times");

    world.script("recommendations", json!(""));
    world.until("/products/harness", |page| {
        page["recommended_from"] == "live"
    });
}

#[test]
fn a_product_that_is_not_sold_has_no_page() {
    let world = World::start(&[]);
    assert_eq!(world.page("boat").0.status, 404);
}
