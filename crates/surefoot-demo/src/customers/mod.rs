//! The customers' telephones. Each wish to buy has one key, made of the order; who clicks twice sends it twice at once, and
//! every telephone tries again. What each was told in the end is kept, for it is half of what an act is judged by.

mod keyed;
mod outcome;
mod plain;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use surefoot_http::IntentKey;
use tokio::task::JoinSet;

use crate::act::Act;
use crate::error::DemoError;
use crate::outbound;
use crate::plan::Intent;
use crate::times::CLICKS_APART;
pub(crate) use outcome::{Click, Outcomes, Told};

/// All customers of an act.
pub(crate) struct Customers {
    shared: Arc<Shared>,
    telephones: JoinSet<()>,
}

struct Shared {
    act: Act,
    client: reqwest::Client,
    gateway: String,
    outcomes: Mutex<Outcomes>,
}

/// One wish to buy, as a telephone knows it.
struct Wish {
    key: IntentKey,
    body: String,
}

impl Customers {
    pub(crate) fn new(act: Act, gateway: &str) -> Result<Self, DemoError> {
        let shared = Shared {
            act,
            client: outbound::client()?,
            gateway: gateway.to_owned(),
            outcomes: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            telephones: JoinSet::new(),
        })
    }

    /// One customer presses the button, once or twice.
    pub(crate) fn buys(&mut self, intent: &Intent) {
        self.shared.outcomes().begins(intent);
        for click in 0..intent.clicks {
            let shared = self.shared.clone();
            let order = intent.order.clone();
            let wish = Wish {
                key: IntentKey::of("order", &intent.order),
                body: serde_json::json!({ "order": intent.order, "cents": intent.cents })
                    .to_string(),
            };
            self.telephones.spawn(async move {
                tokio::time::sleep(CLICKS_APART * click).await;
                let begun = Instant::now();
                let told = match shared.act {
                    Act::Plain => plain::buy(&shared, &wish, begun).await,
                    Act::Guarded => keyed::buy(&shared, &wish, begun).await,
                };
                shared.outcomes().told(&order, told);
            });
        }
    }

    /// What they were told so far.
    pub(crate) fn outcomes(&self) -> Outcomes {
        self.shared.outcomes().clone()
    }

    /// The same, for who watches meanwhile.
    pub(crate) fn watched(&self) -> Watched {
        Watched(self.shared.clone())
    }

    /// Waits until every telephone has ended.
    pub(crate) async fn all_told(&mut self) {
        while self.telephones.join_next().await.is_some() {}
    }
}

/// What customers are told, for who watches.
pub(crate) struct Watched(Arc<Shared>);

impl Watched {
    pub(crate) fn outcomes(&self) -> Outcomes {
        self.0.outcomes().clone()
    }
}

impl Shared {
    fn outcomes(&self) -> MutexGuard<'_, Outcomes> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
