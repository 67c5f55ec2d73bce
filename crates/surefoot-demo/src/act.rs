//! Puts one act on: starts what it takes, lets the customers come one after the other, kills the checkout in the middle, waits
//! for the last outcome, and reads the books.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::customers::Customers;
use crate::error::DemoError;
use crate::gateway::Gateway;
use crate::listen::Listening;
use crate::live::Watcher;
use crate::plan::{Intent, Phase, plan};
use crate::provider::{Provider, Whim};
use crate::report::ActReport;
use crate::shop_process::ShopProcess;
use crate::times::{ACT_END_MAX, BOOKS_QUIET, CUSTOMER_EVERY, DOWN, KILL_WAIT, QUIET_BEFORE_KILL};
use crate::visitors::Visitors;
use crate::watching::{Scenes, Sights, Watching};
use crate::widget::Widget;
use crate::{DemoOptions, pages};

/// How often to look whether something has come to hold.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Which act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Without protection.
    Plain,
    /// With Surefoot.
    Guarded,
}

impl Act {
    /// Both acts.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Guarded];

    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "unprotected",
            Self::Guarded => "surefoot",
        }
    }

    /// The act with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.name() == text)
    }
}

/// Everything that is up while an act is on.
struct Stage {
    plan: Arc<Vec<Intent>>,
    provider: Arc<Provider>,
    widget: Widget,
    gateway: Gateway,
    customers: Customers,
    visitors: Visitors,
    checkout: ShopProcess,
    scenes: Scenes,
    _pages: Listening,
    _watching: Watching,
}

pub(crate) async fn put_on(
    act: Act,
    options: &DemoOptions,
    watcher: &Watcher,
) -> Result<ActReport, DemoError> {
    let mut stage = Stage::set(act, options, watcher).await?;
    stage.play().await?;
    stage.close_the_books().await;
    Ok(ActReport::of(
        act,
        &stage.plan,
        &stage.customers.outcomes(),
        &stage.provider.books(),
        stage.visitors.views(),
    ))
}

impl Stage {
    async fn set(act: Act, options: &DemoOptions, watcher: &Watcher) -> Result<Self, DemoError> {
        let plan = Arc::new(plan(options.seed, options.pace));
        let manners = plan.clone();
        let provider = Arc::new(Provider::start(Box::new(move |order, call| {
            let intent = manners.iter().find(|intent| intent.order == order);
            intent.map_or(Whim::Reset, |intent| intent.whim(call))
        }))?);
        let widget = Widget::start().await?;
        let pages = pages::start(act, widget.url()).await?;
        let checkout = ShopProcess::start(act, &provider.url(), options).await?;
        let gateway = Gateway::start(act, checkout.url()).await?;
        let customers = Customers::new(act, gateway.url())?;
        let visitors = Visitors::start(pages.url())?;
        let scenes = Scenes::open(checkout.url());
        let sights = Sights {
            act,
            scenes: scenes.clone(),
            provider: provider.clone(),
            customers: customers.watched(),
            visitors: visitors.watched(),
        };
        let watching = Watching::start(sights, watcher.clone())?;
        Ok(Self {
            plan,
            provider,
            widget,
            gateway,
            customers,
            visitors,
            checkout,
            scenes,
            _pages: pages,
            _watching: watching,
        })
    }

    /// The customers come, each phase after the other.
    async fn play(&mut self) -> Result<(), DemoError> {
        let plan = self.plan.clone();
        for phase in Phase::ALL {
            self.scenes.turn_to(phase);
            self.widget.hang(phase.is_outage());
            let intents: Vec<&Intent> =
                plan.iter().filter(|intent| intent.phase == phase).collect();
            if phase == Phase::Killed {
                self.kill_amid(&intents).await?;
                continue;
            }
            for intent in intents {
                self.customers.buys(intent);
                tokio::time::sleep(CUSTOMER_EVERY).await;
            }
        }
        // Who is not told by then is told nothing.
        let _ = tokio::time::timeout(ACT_END_MAX, self.customers.all_told()).await;
        Ok(())
    }

    /// Kills the checkout when the calls of these orders are out, and starts it again.
    async fn kill_amid(&mut self, intents: &[&Intent]) -> Result<(), DemoError> {
        holds(QUIET_BEFORE_KILL, || {
            self.customers.outcomes().open_with_hope() == 0
        })
        .await;
        for intent in intents {
            self.customers.buys(intent);
        }
        holds(KILL_WAIT, || {
            let books = self.provider.books();
            let mut orders = intents.iter().map(|intent| &intent.order);
            orders.all(|order| books.of(order).calls > 0)
        })
        .await;
        self.scenes.checkout(None);
        self.checkout.kill();
        tokio::time::sleep(DOWN).await;
        self.checkout.start_again().await?;
        self.gateway.point_at(self.checkout.url());
        self.scenes.checkout(Some(self.checkout.url()));
        Ok(())
    }

    /// Waits until nothing reaches the provider any more and nothing can still take effect there: in act one calls go on
    /// that nobody waits for.
    async fn close_the_books(&self) {
        let (mut calls, mut since) = (self.provider.books().calls(), Instant::now());
        holds(ACT_END_MAX, || {
            let now = self.provider.books().calls();
            if now != calls {
                (calls, since) = (now, Instant::now());
            }
            since.elapsed() >= BOOKS_QUIET
        })
        .await;
    }
}

/// Waits until something holds, but no longer than `within`.
async fn holds(within: Duration, mut look: impl FnMut() -> bool) {
    let ends_at = Instant::now() + within;
    while !look() && Instant::now() < ends_at {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
