//! A drawn claim as the port takes it.

use std::collections::BTreeMap;
use std::time::Duration;

use surefoot_core::id::Worker;
use surefoot_core::policy::Recovery;
use surefoot_core::port::{Claim, KindTerms, Queues};

use super::draft::{kind, name, queue};
use super::op::{Scope, Take};

impl Take {
    pub(super) fn claim(&self) -> Claim {
        let recovery = [
            None,
            Some(Recovery::SameKey),
            Some(Recovery::AtMostOnce),
            Some(Recovery::Repeatable),
        ][usize::from(self.recovery) % 4];
        let (queues, queue_limits, kind_max, key_max) = match &self.scope {
            Scope::All { limits } => {
                let named = (0..).map(queue).zip(limits);
                let limits: BTreeMap<_, _> = named
                    .filter_map(|(queue, limit)| Some((queue, u32::from((*limit)?))))
                    .collect();
                (Queues::All, limits, None, None)
            }
            Scope::One {
                queue: number,
                limit,
                kind_max,
                key_max,
            } => {
                let limits = limit
                    .map(|limit| (queue(*number), u32::from(limit)))
                    .into_iter()
                    .collect();
                (
                    Queues::Only(vec![queue(*number)]),
                    limits,
                    *kind_max,
                    *key_max,
                )
            }
        };
        let terms = |number| KindTerms {
            kind: kind(number),
            lease: Duration::from_secs(40),
            recovery,
            concurrency_max: kind_max.map(u32::from),
            concurrency_per_key_max: key_max.map(u32::from),
        };
        Claim {
            worker: name(Worker::new("w")),
            kinds: (0..3)
                .filter(|number| self.kinds & (1 << number) != 0)
                .map(terms)
                .collect(),
            queues,
            queue_limits,
            max: self.max.into(),
        }
    }
}
