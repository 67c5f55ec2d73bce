//! Runs the model checker over a setup and says what it found.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use stateright::{Checker, HasDiscoveries, Model, Path, Property};
use surefoot_core::id::NameError;

use super::seen::Seen;
use super::setup::Names;
use super::step::{self, Step};
use super::world::{T0, World};
use super::{Protocol, Setup, check, quiet};

/// What a run of the model found.
#[derive(Debug)]
pub struct Explored {
    /// Different states.
    pub states: usize,
    /// The longest shortest way to a state, in steps.
    pub depth: usize,
    /// Invariants that do not hold, each with a shortest way to where it does not.
    pub violations: Vec<Violation>,
    seen: Arc<Seen>,
}

/// An invariant that does not hold.
#[derive(Debug)]
pub struct Violation {
    /// Its name.
    pub invariant: &'static str,
    /// The steps that lead there, one a line.
    pub way: String,
}

impl Explored {
    /// How often each kind of step was taken.
    #[must_use]
    pub fn happened(&self) -> [(&'static str, u64); 10] {
        self.seen.lines()
    }
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} states, depth {}{}",
            self.states, self.depth, self.seen
        )?;
        for violation in &self.violations {
            write!(
                f,
                "\n{} does not hold:\n{}",
                violation.invariant, violation.way
            )?;
        }
        Ok(())
    }
}

/// Explores every state of a setup, on two threads, and stops at the first violation.
///
/// # Errors
/// A name of the model is not one.
pub fn explore(setup: &Setup) -> Result<Explored, NameError> {
    run(setup, HasDiscoveries::AnyFailures)
}

/// Explores until this invariant is found not to hold, or every state is known.
///
/// # Errors
/// A name of the model is not one.
pub fn hunt(setup: &Setup, invariant: &'static str) -> Result<Explored, NameError> {
    run(setup, HasDiscoveries::AllOf([invariant].into()))
}

fn run(setup: &Setup, until: HasDiscoveries) -> Result<Explored, NameError> {
    let seen = Arc::<Seen>::default();
    let protocol = Protocol {
        setup: setup.clone(),
        names: Names::of(setup)?,
        policy: setup.policy(),
        plan: setup.plan(),
        seen: Arc::clone(&seen),
        arrived: quiet::Arrived::default(),
    };
    let checker = protocol
        .checker()
        .threads(2)
        .finish_when(until)
        .spawn_bfs()
        .join();
    let violations = checker
        .discoveries()
        .into_iter()
        .map(|(invariant, path)| Violation {
            invariant,
            way: told(path),
        })
        .collect();
    Ok(Explored {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        violations,
        seen,
    })
}

fn told(path: Path<World, Step>) -> String {
    let mut text = String::new();
    let mut end = None;
    for (world, step) in path.into_vec() {
        if let Some(step) = step {
            // Writing to a string does not fail.
            let _ = writeln!(text, "  at {:?}: {step:?}", world.now.since(T0));
        }
        end = Some(world);
    }
    let _ = writeln!(text, "  {end:#?}");
    text
}

impl Model for Protocol {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::begin(
            &self.names.kind,
            self.setup.workers,
            self.setup.keys_kept(),
        )]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        step::possible(&self.setup, world, steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        Some(self.after(world, step))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no-double-effect", check::no_double_effect),
            Property::always("no-lost-intent", quiet::no_lost_intent),
            Property::always("no-zombie-write", check::no_zombie_write),
            Property::always("one-outcome", check::one_outcome),
            Property::always("honest-unknown", check::honest_unknown),
            Property::always("every-attempt-logged", check::every_attempt_logged),
        ]
    }
}
