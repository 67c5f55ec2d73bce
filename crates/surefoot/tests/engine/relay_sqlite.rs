//! Both halves on one SQLite file in real time: orders commit with their messages, relays die and come back, answers are lost,
//! and each order earns its points once and in its order.

use std::sync::Arc;
use std::time::Duration;

use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::id::{Consumer, MessageId, OrderKey, Source, Tenant, Topic};
use surefoot::core::message::{Accepted, DeliveryPolicy, Message, Proof, Receipt, Topics};
use surefoot::core::payload::Payload;
use surefoot::core::port::{Messages, Since};
use surefoot::core::time::Clock;
use surefoot::{Failure, NodeClock, Relay, RelayOptions};
use surefoot_store::sqlite::SqliteStore;
use tempfile::TempDir;

const ORDERS: i64 = 120;
const CUSTOMERS: i64 = 5;

struct Shop {
    folder: TempDir,
    clock: Arc<NodeClock>,
    store: SqliteStore,
}

impl Shop {
    async fn open() -> Arc<Self> {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("shop.db"))
            .await
            .unwrap();
        let clock = Arc::new(NodeClock::measured(&store).await.unwrap());
        let tables = "create table paid (id integer primary key);
            create table points (place integer primary key autoincrement, customer integer not null, paid integer not null);";
        store
            .write(move |tx| -> Result<(), Failure> { Ok(tx.execute_batch(tables)?) })
            .await
            .unwrap();
        Arc::new(Self {
            folder,
            clock,
            store,
        })
    }

    /// A store of its own on the same file, as another process would have.
    async fn another(&self) -> SqliteStore {
        SqliteStore::open(self.folder.path().join("shop.db"))
            .await
            .unwrap()
    }

    /// The order and its message are one commit; every third one is rolled back.
    async fn pay(&self, order: i64) {
        let message = Message {
            id: MessageId::new(format!("paid-{order}")).unwrap(),
            tenant: Tenant::single(),
            topic: Topic::new("order.paid").unwrap(),
            key: Some(OrderKey::new(format!("customer-{}", order % CUSTOMERS)).unwrap()),
            payload: Payload::from_serialize(&order).unwrap(),
            trace: None,
            appended_at: self.clock.now(),
        };
        let paying = self.store.write(move |tx| -> Result<(), Failure> {
            tx.execute("insert into paid values (?1)", [order])?;
            SqliteStore::append_in(tx, &[message])?;
            if order % 3 == 0 {
                return Err(Failure::permanent("the card was declined"));
            }
            Ok(())
        });
        assert_eq!(paying.await.is_err(), order % 3 == 0);
    }

    /// Adds the points once, and loses one answer in four.
    async fn earn(&self, store: SqliteStore, paid: Message) -> Result<Proof, Failure> {
        let order: i64 = paid.payload.decode()?;
        let receipt = Receipt::of(Source::outbox(), &paid, Consumer::new("loyalty")?);
        let now = self.clock.now();
        store
            .write(move |tx| -> Result<(), Failure> {
                match SqliteStore::accept_in(tx, &receipt, now)? {
                    Accepted::First => {
                        let sql = "insert into points (customer, paid) values (?1, ?2)";
                        tx.execute(sql, [order % CUSTOMERS, order])?;
                    }
                    Accepted::Duplicate { .. } => {}
                }
                Ok(())
            })
            .await?;
        match fastrand::u8(0..4) {
            0 => Err(Failure::transient("the answer was lost")),
            _ => Ok(Proof::new("earned")),
        }
    }

    async fn relay(self: &Arc<Self>) -> Relay {
        let store = self.another().await;
        let sink = {
            let (shop, store) = (self.clone(), store.clone());
            move |paid: Message| {
                let (shop, store) = (shop.clone(), store.clone());
                async move { shop.earn(store, paid).await }
            }
        };
        let policy = DeliveryPolicy {
            timeout: Duration::from_millis(500),
            lease: Duration::from_millis(1200),
            attempts_max: 1000,
            losses_max: 1000,
            backoff: Backoff::List {
                delays: vec![Duration::from_millis(5)],
                jitter: Jitter::Full,
            },
            ..DeliveryPolicy::default()
        };
        Relay::over(Arc::new(store.clone()), Arc::new(store))
            .sink_with("loyalty", Topics::All, Since::Kept, policy, sink)
            .options(RelayOptions {
                poll: Duration::from_millis(20),
                ..RelayOptions::default()
            })
            .start()
            .await
            .unwrap()
    }

    async fn is_done(&self) -> bool {
        let depth = self.store.message_depth().await.unwrap();
        depth.iter().all(|depth| depth.oldest.is_none())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_order_earns_its_points_once_and_in_its_order() {
    let shop = Shop::open().await;
    let mut relays = vec![shop.relay().await, shop.relay().await];
    for order in 0..ORDERS {
        shop.pay(order).await;
        if order % 30 == 20 {
            // It dies in the middle of what it does.
            relays.remove(0);
            relays.push(shop.relay().await);
        }
    }
    let ended = async {
        while !shop.is_done().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended)
        .await
        .unwrap();
    let earned = shop
        .store
        .write(|tx| -> Result<Vec<(i64, i64)>, Failure> {
            let mut all = tx.prepare("select customer, paid from points order by place")?;
            let rows = all.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
        .unwrap();
    let kept = (0..ORDERS).filter(|order| order % 3 != 0);
    assert_eq!(
        earned.len(),
        kept.clone().count(),
        "no-double-effect, no-lost-intent"
    );
    for customer in 0..CUSTOMERS {
        let line = earned
            .iter()
            .filter(|(of, _)| *of == customer)
            .map(|(_, paid)| *paid);
        let expected = kept.clone().filter(|order| order % CUSTOMERS == customer);
        assert!(line.eq(expected), "order-kept");
    }
}
