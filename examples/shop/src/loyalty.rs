//! Points for what was bought. It is given every event of an order at least once, in their order, and counts each one once:
//! the receipt of an event and the points that it brings are one commit.

use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use surefoot::core::id::{Consumer, Source, Tenant, Topic};
use surefoot::core::message::{Accepted, Message, Proof, Receipt, Topics};
use surefoot::core::time::Clock;
use surefoot::{Failure, Outcome, Sink};
use surefoot_store::sqlite::SqliteStore;
use surefoot_store::sqlite::rusqlite::{Connection, OptionalExtension, Transaction};

use crate::Fault;
use crate::events::{DECLINED, OrderEvent, PAID, PLACED};
use crate::refused::Refused;

/// The name of the consumer and of its sink, on record.
pub const NAME: &str = "loyalty";
/// What brings one point.
const CENTS_PER_POINT: u64 = 100;

const TABLES: &str = "
    create table if not exists loyalty (
        customer text primary key,
        promised integer not null check (promised >= 0),
        earned integer not null check (earned >= 0)
    ) strict";

/// What a customer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Points {
    /// For orders that are not paid yet.
    pub promised: i64,
    /// For orders that are paid.
    pub earned: i64,
}

/// The programme; cheap to clone.
#[derive(Clone)]
pub struct Loyalty {
    store: SqliteStore,
    clock: Arc<dyn Clock>,
}

impl Loyalty {
    /// The programme in the file of a store; its table is made when it is not there.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn open(store: SqliteStore, clock: Arc<dyn Clock>) -> Outcome<Self> {
        let made = |tx: &Transaction<'_>| Ok::<_, Failure>(tx.execute_batch(TABLES)?);
        store.write(made).await?;
        Ok(Self { store, clock })
    }

    /// What it wants to hear of.
    ///
    /// # Errors
    /// None is known: the topics are names.
    pub fn topics() -> Result<Topics, Fault> {
        let topics = [PLACED, PAID, DECLINED].map(Topic::new);
        Ok(Topics::Named(topics.into_iter().collect::<Result<_, _>>()?))
    }

    /// What a customer has.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn points(&self, customer: &Tenant) -> Outcome<Points> {
        let customer = customer.clone();
        let look = move |view: &Connection| {
            let select = "select promised, earned from loyalty where customer = ?1";
            let read = view.query_row(select, [customer.as_str()], |row| {
                Ok(Points {
                    promised: row.get(0)?,
                    earned: row.get(1)?,
                })
            });
            Ok(read.optional()?.unwrap_or_default())
        };
        self.store.view(look).await
    }
}

#[async_trait]
impl Sink for Loyalty {
    async fn deliver(&self, message: Message) -> Result<Proof, Failure> {
        let event: OrderEvent = message.payload.decode()?;
        let change = change(message.topic.as_str(), &event)?;
        let receipt = Receipt::of(Source::outbox(), &message, Consumer::new(NAME)?);
        let now = self.clock.now();
        let count = move |tx: &Transaction<'_>| {
            Ok(match SqliteStore::accept_in(tx, &receipt, now)? {
                Accepted::First => {
                    tx.execute(
                        "insert into loyalty (customer, promised, earned) values (?1, 0, 0) on conflict do nothing",
                        [message.tenant.as_str()],
                    )?;
                    tx.execute(
                        "update loyalty set promised = promised + ?2, earned = earned + ?3 where customer = ?1",
                        (message.tenant.as_str(), change.promised, change.earned),
                    )?;
                    Proof::new("counted")
                }
                Accepted::Duplicate { at } => Proof::new(format!("counted before, at {at}")),
            })
        };
        self.store.write(count).await
    }
}

/// What an event changes.
fn change(topic: &str, event: &OrderEvent) -> Outcome<Points> {
    let points = i64::try_from(event.cents / CENTS_PER_POINT)?;
    match topic {
        PLACED => Ok(Points {
            promised: points,
            earned: 0,
        }),
        PAID => Ok(Points {
            promised: -points,
            earned: points,
        }),
        DECLINED => Ok(Points {
            promised: -points,
            earned: 0,
        }),
        other => Err(Failure::permanent(format!(
            "{other} is no event of an order"
        ))),
    }
}

/// What the customer has.
///
/// # Errors
/// The database did not answer.
pub async fn look(
    State(loyalty): State<Loyalty>,
    Extension(customer): Extension<Tenant>,
) -> Result<Json<Points>, Refused> {
    Ok(Json(loyalty.points(&customer).await?))
}
