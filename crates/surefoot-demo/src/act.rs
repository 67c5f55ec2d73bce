//! Puts one act on: starts what it takes, lets the customers come one after the other, kills the checkout in the middle, waits
//! for the last outcome, and reads the books.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::task::AbortHandle;

use crate::checkout::{CheckoutOptions, Standing};
use crate::child::ChildProcess;
use crate::customers::Customers;
use crate::error::DemoError;
use crate::gateway::Gateway;
use crate::live::{Live, Seen, Watcher};
use crate::plan::{Intent, Phase, plan};
use crate::provider::Provider;
use crate::report::ActReport;
use crate::times::{
    ACT_END_MAX, BOOKS_QUIET, CUSTOMER_EVERY, DOWN, KILL_WAIT, LIVE_EVERY, QUIET_BEFORE_KILL,
};
use crate::visitors::Visitors;
use crate::widget::Widget;
use crate::{DemoOptions, outbound, pages};

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
    act: Act,
    plan: Arc<Vec<Intent>>,
    provider: Arc<Provider>,
    widget: Widget,
    gateway: Gateway,
    customers: Customers,
    visitors: Visitors,
    checkout: Checkout,
    signs: Arc<Signs>,
    _pages: crate::listen::Listening,
    _watching: Watching,
}

/// The process of the checkout, and how to start it again.
struct Checkout {
    options: CheckoutOptions,
    demo: DemoOptions,
    process: Option<ChildProcess>,
    _folder: TempDir,
}

/// What the live view is told by the script.
#[derive(Default)]
struct Signs {
    phase: AtomicUsize,
    is_down: AtomicBool,
    checkout: std::sync::Mutex<String>,
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
            intent.map_or(crate::provider::Whim::Reset, |intent| intent.whim(call))
        }))?);
        let widget = Widget::start().await?;
        let pages = pages::start(act, widget.url()).await?;
        let checkout = Checkout::start(act, &provider.url(), options).await?;
        let gateway = Gateway::start(act, checkout.url()).await?;
        let customers = Customers::new(act, gateway.url())?;
        let visitors = Visitors::start(pages.url())?;
        let signs = Arc::new(Signs::default());
        signs.moved(checkout.url());
        let watching = watch(
            act,
            watcher.clone(),
            signs.clone(),
            customers.watched(),
            provider.clone(),
            visitors.watched(),
        )?;
        Ok(Self {
            act,
            plan,
            provider,
            widget,
            gateway,
            customers,
            visitors,
            checkout,
            signs,
            _pages: pages,
            _watching: watching,
        })
    }

    /// The customers come, each phase after the other.
    async fn play(&mut self) -> Result<(), DemoError> {
        let plan = self.plan.clone();
        for (number, phase) in Phase::ALL.into_iter().enumerate() {
            self.signs.phase.store(number, Ordering::Relaxed);
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
        self.signs.is_down.store(true, Ordering::Relaxed);
        self.checkout.kill();
        tokio::time::sleep(DOWN).await;
        self.checkout.start_again().await?;
        self.gateway.point_at(self.checkout.url());
        self.signs.moved(self.checkout.url());
        self.signs.is_down.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// In act one calls go on that nobody waits for.
    async fn close_the_books(&self) {
        match self.act {
            Act::Guarded => {}
            Act::Plain => {
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
    }
}

impl Checkout {
    async fn start(act: Act, provider: &str, demo: &DemoOptions) -> Result<Self, DemoError> {
        let folder =
            TempDir::with_prefix("surefoot-demo-").map_err(DemoError::io("make a folder"))?;
        let mut checkout = Self {
            options: CheckoutOptions {
                act,
                provider: provider.to_owned(),
                folder: folder.path().to_owned(),
            },
            demo: demo.clone(),
            process: None,
            _folder: folder,
        };
        checkout.start_again().await?;
        Ok(checkout)
    }

    async fn start_again(&mut self) -> Result<(), DemoError> {
        let arguments = [self.demo.arguments.clone(), self.options.arguments()].concat();
        let folder = &self.options.folder;
        let process = ChildProcess::start(&self.demo.program, &arguments, folder).await?;
        self.process = Some(process);
        Ok(())
    }

    /// `kill -9`.
    fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    fn url(&self) -> &str {
        self.process.as_ref().map_or("", |process| &process.url)
    }
}

impl Signs {
    fn moved(&self, checkout: &str) {
        *self.place() = checkout.to_owned();
    }

    fn place(&self) -> std::sync::MutexGuard<'_, String> {
        self.checkout
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Tells a watcher what an act looks like, until this is dropped.
struct Watching(AbortHandle);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn watch(
    act: Act,
    watcher: Watcher,
    signs: Arc<Signs>,
    outcomes: impl Fn() -> crate::customers::Outcomes + Send + Sync + 'static,
    provider: Arc<Provider>,
    views: impl Fn() -> crate::visitors::Views + Send + Sync + 'static,
) -> Result<Watching, DemoError> {
    let client = outbound::client()?;
    let begun = Instant::now();
    let task = tokio::spawn(async move {
        loop {
            let url = format!("{}/standing", signs.place());
            let phase = signs.phase.load(Ordering::Relaxed);
            let seen = Seen {
                act,
                phase: Phase::ALL.get(phase).copied().unwrap_or(Phase::Calm),
                elapsed: begun.elapsed(),
                is_down: signs.is_down.load(Ordering::Relaxed),
                outcomes: outcomes(),
                books: provider.books(),
                standing: standing(&client, &url).await,
                views: views(),
            };
            watcher(&Live::from(seen));
            tokio::time::sleep(LIVE_EVERY).await;
        }
    });
    Ok(Watching(task.abort_handle()))
}

/// How the checkout stands; nothing of it while it does not answer.
async fn standing(client: &reqwest::Client, url: &str) -> Standing {
    let asked = async { client.get(url).send().await?.json().await };
    match tokio::time::timeout(LIVE_EVERY, asked).await {
        Ok(Ok(standing)) => standing,
        Ok::<Result<_, reqwest::Error>, _>(Err(_)) | Err(_) => Standing::default(),
    }
}

/// Waits until something holds, but no longer than `within`.
async fn holds(within: Duration, mut look: impl FnMut() -> bool) {
    let ends_at = Instant::now() + within;
    while !look() && Instant::now() < ends_at {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
