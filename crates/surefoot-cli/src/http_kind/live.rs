//! The live state of each dependency: one for the whole process, shared by all kinds that call it and by whoever looks at
//! it. It calls nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use surefoot_core::id::DependencyName;
use surefoot_policy::Dependency;
use surefoot_policy::metrics::Metrics;
use surefoot_policy::policy::InvalidPolicy;

use crate::config;

/// The dependencies of this node, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveDependencies {
    by_name: Arc<BTreeMap<DependencyName, Dependency>>,
    metrics: Metrics,
}

impl LiveDependencies {
    /// Those of a configuration, none of which was called yet.
    ///
    /// # Errors
    /// [`InvalidPolicy`], which a checked configuration does not hold.
    pub(crate) fn new(declared: &[Arc<config::Dependency>]) -> Result<Self, InvalidPolicy> {
        let metrics = Metrics::default();
        let live = |declared: &Arc<config::Dependency>| {
            let name = declared.name.clone();
            let dependency = Dependency::new(name.as_str(), declared.policy.clone())?;
            metrics.watch(&dependency);
            Ok((name, dependency))
        };
        let by_name = declared.iter().map(live).collect::<Result<_, _>>()?;
        Ok(Self {
            by_name: Arc::new(by_name),
            metrics,
        })
    }

    /// The one with this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Dependency> {
        let name = DependencyName::new(name).ok()?;
        self.by_name.get(&name)
    }
}
