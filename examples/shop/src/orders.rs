//! The orders, in the same file as everything that must agree with them. An order, its event and its charging job are one
//! commit; so are what became of it, the event of that, and the end of the job.

use surefoot::core::id::{JobId, Tenant};
use surefoot::core::port::NewJob;
use surefoot::core::time::Timestamp;
use surefoot::{Cx, Failure, Outcome};
use surefoot_store::sqlite::SqliteStore;
use surefoot_store::sqlite::rusqlite::{Connection, OptionalExtension, Row, Transaction};

use crate::events::event;
use crate::provider::Charged;

const TABLES: &str = "
    create table if not exists orders (
        id text primary key,
        customer text not null,
        job text not null unique,
        product text not null,
        cents integer not null check (cents > 0),
        state text not null check (state in ('placed', 'paid', 'declined')),
        charge text,
        check ((state = 'paid') = (charge is not null))
    ) strict;
    create index if not exists orders_of_customer on orders (customer, id)";

/// The most orders that one look answers with.
pub const ORDERS_MAX: u32 = 10_000;

/// One order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The id of the request that it came with: one request, one order.
    pub id: String,
    /// Whose it is.
    pub customer: Tenant,
    /// The job that charges it.
    pub job: JobId,
    /// What is bought.
    pub product: String,
    /// What it costs.
    pub cents: u64,
    /// How it stands.
    pub state: OrderState,
}

/// How an order stands. It never goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderState {
    /// It is on record, and its charge is carried out.
    Placed,
    /// The money is there.
    Paid {
        /// What the provider calls it.
        charge: String,
    },
    /// The bank said no, and nothing was taken.
    Declined,
}

impl OrderState {
    /// The word, on record and in answers.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::Paid { .. } => "paid",
            Self::Declined => "declined",
        }
    }
}

/// The rows; cheap to clone.
#[derive(Clone, Debug)]
pub struct Orders(SqliteStore);

impl Orders {
    /// The orders in the file of a store; their table is made when it is not there.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn open(store: SqliteStore) -> Outcome<Self> {
        let made = |tx: &Transaction<'_>| Ok::<_, Failure>(tx.execute_batch(TABLES)?);
        store.write(made).await?;
        Ok(Self(store))
    }

    /// Writes an order, its event and its charging job in the transaction of the request that it came with.
    ///
    /// # Errors
    /// What the database answered; the transaction is to be rolled back.
    pub fn place(tx: &Transaction<'_>, order: &Order, job: &NewJob, now: Timestamp) -> Outcome<()> {
        tx.execute(
            "insert into orders (id, customer, job, product, cents, state) values (?1, ?2, ?3, ?4, ?5, ?6)",
            (
                &order.id,
                order.customer.as_str(),
                order.job.to_string(),
                &order.product,
                i64::try_from(order.cents)?,
                order.state.as_str(),
            ),
        )?;
        let event = event(order, job.trace.clone(), now)?;
        SqliteStore::append_in(tx, &[event])?;
        SqliteStore::enqueue_in(tx, job, now)?;
        Ok(())
    }

    /// Writes what became of the charge of an order: its state, the event and the end of the job are one commit. A worker that
    /// has lost its lease writes none of it.
    ///
    /// # Errors
    /// The lease is lost, or what the database answered. Nothing was written then.
    pub async fn settle(
        &self,
        id: &str,
        charged: Charged,
        cx: &Cx,
        now: Timestamp,
    ) -> Outcome<Charged> {
        let (id, cx) = (id.to_owned(), cx.clone());
        let settled = move |tx: &Transaction<'_>| {
            let placed = find(tx, cx.tenant(), &id)?;
            let placed = placed.ok_or_else(|| Failure::permanent("its order is not there"))?;
            let (state, charge) = match &charged {
                Charged::Taken { charge } => {
                    let charge = charge.clone();
                    (
                        OrderState::Paid {
                            charge: charge.clone(),
                        },
                        Some(charge),
                    )
                }
                Charged::Declined { .. } => (OrderState::Declined, None),
            };
            let order = Order { state, ..placed };
            let changed = tx.execute(
                "update orders set state = ?2, charge = ?3 where id = ?1 and state = 'placed'",
                (&order.id, order.state.as_str(), charge),
            )?;
            if changed != 1 {
                return Err(Failure::permanent("its order is settled already"));
            }
            let event = event(&order, cx.trace().cloned(), now)?;
            SqliteStore::append_in(tx, &[event])?;
            SqliteStore::settle_in(tx, &cx.settlement(&charged)?)?;
            Ok(charged)
        };
        self.0.write(settled).await
    }

    /// An order of a customer.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn find(&self, customer: &Tenant, id: &str) -> Outcome<Option<Order>> {
        let (customer, id) = (customer.clone(), id.to_owned());
        self.0
            .view(move |view: &Connection| find(view, &customer, &id))
            .await
    }

    /// The orders of a customer, the earliest first, at most [`ORDERS_MAX`].
    ///
    /// # Errors
    /// What the database answered.
    pub async fn of_customer(&self, customer: &Tenant) -> Outcome<Vec<Order>> {
        let customer = customer.clone();
        let look = move |view: &Connection| {
            let select = format!("{SELECT} where customer = ?1 order by id limit ?2");
            let mut select = view.prepare(&select)?;
            let rows = select.query_map((customer.as_str(), ORDERS_MAX), columns)?;
            rows.map(|row| order(row?)).collect()
        };
        self.0.view(look).await
    }
}

const SELECT: &str = "select id, customer, job, product, cents, state, charge from orders";

type Columns = (String, String, String, String, i64, String, Option<String>);

fn find(connection: &Connection, customer: &Tenant, id: &str) -> Outcome<Option<Order>> {
    let select = format!("{SELECT} where id = ?1 and customer = ?2");
    let row = connection.query_row(&select, (id, customer.as_str()), columns);
    row.optional()?.map(order).transpose()
}

fn columns(row: &Row<'_>) -> Result<Columns, surefoot_store::sqlite::rusqlite::Error> {
    row.try_into()
}

fn order((id, customer, job, product, cents, state, charge): Columns) -> Outcome<Order> {
    let state = match (state.as_str(), charge) {
        ("placed", None) => OrderState::Placed,
        ("paid", Some(charge)) => OrderState::Paid { charge },
        ("declined", None) => OrderState::Declined,
        (other, _) => {
            return Err(Failure::permanent(format!(
                "order {id} is in state {other:?}"
            )));
        }
    };
    Ok(Order {
        id,
        customer: Tenant::new(customer)?,
        job: job.parse()?,
        product,
        cents: u64::try_from(cents)?,
        state,
    })
}
