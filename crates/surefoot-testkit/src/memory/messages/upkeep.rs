//! What people see and order, and what leaves.

use std::collections::BTreeSet;

use surefoot_core::id::{MessageId, SinkName, Source, Tenant};
use surefoot_core::message::{DeliveryState, DeliveryStateName, MessageNumber};
use surefoot_core::port::{
    By, DeliveryId, DeliveryOrder, DeliverySteered, DeliveryVerb, ForgottenMessages,
    MESSAGE_ORDERS_MAX, MessageRecord, ParkedDelivery, SinkDepth,
};
use surefoot_core::time::Timestamp;

use super::table::MessageTable;

impl MessageTable {
    pub(super) fn parked(
        &self,
        of: Option<&SinkName>,
        after: Option<&DeliveryId>,
        limit: usize,
    ) -> Vec<ParkedDelivery> {
        let mut parked: Vec<_> = self
            .deliveries
            .iter()
            .filter(|((sink, _), _)| of.is_none_or(|of| of == sink))
            .filter_map(|((sink, number), row)| {
                let DeliveryState::Parked { at, error } = &row.delivery.state else {
                    return None;
                };
                Some(ParkedDelivery {
                    delivery: DeliveryId {
                        number: *number,
                        sink: sink.clone(),
                    },
                    message: self.messages.get(number)?.clone(),
                    failed: row.delivery.failed,
                    lost: row.delivery.lost,
                    at: *at,
                    error: error.clone(),
                })
            })
            .filter(|parked| after.is_none_or(|after| parked.delivery > *after))
            .collect();
        parked.sort_by(|a, b| a.delivery.cmp(&b.delivery));
        parked.truncate(limit);
        parked
    }

    pub(super) fn steer(
        &mut self,
        delivery: &DeliveryId,
        verb: DeliveryVerb,
        by: &By,
        now: Timestamp,
    ) -> DeliverySteered {
        let key = (delivery.sink.clone(), delivery.number);
        let Some(row) = self.deliveries.get_mut(&key) else {
            return DeliverySteered::NotFound;
        };
        match row.delivery.state.name() {
            DeliveryStateName::Parked => {}
            other @ (DeliveryStateName::Waiting
            | DeliveryStateName::Taken
            | DeliveryStateName::Delivered
            | DeliveryStateName::Skipped) => return DeliverySteered::Refused(other),
        }
        match verb {
            DeliveryVerb::Again => {
                row.delivery.failed = 0;
                row.delivery.lost = 0;
                row.due_at = now;
                row.wait();
            }
            DeliveryVerb::Skip => {
                row.delivery.state = DeliveryState::Skipped {
                    at: now,
                    by: by.clone(),
                };
            }
        }
        let orders = self.orders.entry(delivery.number).or_default();
        orders.push(DeliveryOrder {
            sink: delivery.sink.clone(),
            verb,
            at: now,
            by: by.clone(),
        });
        DeliverySteered::Done
    }

    pub(super) fn record(&self, tenant: &Tenant, id: &MessageId) -> Option<MessageRecord> {
        let number = *self.ids.get(&(tenant.clone(), id.clone()))?;
        let deliveries = self
            .deliveries
            .iter()
            .filter(|((_, other), _)| *other == number)
            .map(|(_, row)| row.delivery.clone())
            .collect();
        let orders = self.orders.get(&number).cloned().unwrap_or_default();
        let early = orders.len().saturating_sub(MESSAGE_ORDERS_MAX as usize);
        Some(MessageRecord {
            number,
            message: self.messages.get(&number)?.clone(),
            deliveries,
            orders: orders.into_iter().skip(early).collect(),
        })
    }

    pub(super) fn depth(&self, limit: usize) -> Vec<SinkDepth> {
        let open = self.deliveries.iter().filter(|(_, row)| row.is_open());
        let sinks: BTreeSet<_> = open
            .map(|((sink, _), _)| sink)
            .chain(self.sinks.keys())
            .collect();
        let depth_of = |sink: &SinkName| {
            let mut depth = SinkDepth {
                sink: sink.clone(),
                waiting: 0,
                taken: 0,
                parked: 0,
                oldest: None,
                oldest_parked: None,
            };
            for ((_, number), row) in self.deliveries.iter().filter(|((to, _), _)| to == sink) {
                match &row.delivery.state {
                    DeliveryState::Waiting { .. } => depth.waiting += 1,
                    DeliveryState::Taken { .. } => depth.taken += 1,
                    DeliveryState::Parked { at, .. } => {
                        depth.parked += 1;
                        let oldest = depth.oldest_parked.unwrap_or(*at);
                        depth.oldest_parked = Some(oldest.min(*at));
                    }
                    DeliveryState::Delivered { .. } | DeliveryState::Skipped { .. } => continue,
                }
                let appended = self.messages.get(number).map(|message| message.appended_at);
                depth.oldest = depth.oldest.or(appended);
            }
            depth
        };
        sinks.into_iter().take(limit).map(depth_of).collect()
    }

    pub(super) fn forget(&mut self, before: Timestamp, limit: usize) -> ForgottenMessages {
        let mut ended: Vec<_> = self
            .deliveries
            .iter()
            .filter_map(|((sink, number), row)| match &row.delivery.state {
                DeliveryState::Delivered { at, .. } | DeliveryState::Skipped { at, .. } => {
                    Some((*at, *number, sink.clone()))
                }
                DeliveryState::Waiting { .. }
                | DeliveryState::Taken { .. }
                | DeliveryState::Parked { .. } => None,
            })
            .filter(|(at, _, _)| *at <= before)
            .collect();
        ended.sort();
        let more_ended = ended.len() > limit;
        ended.truncate(limit);
        for (_, number, sink) in &ended {
            self.deliveries.remove(&(sink.clone(), *number));
        }
        let held: BTreeSet<MessageNumber> = self.deliveries.keys().map(|(_, n)| *n).collect();
        let mut over: Vec<_> = self
            .messages
            .iter()
            .filter(|(number, message)| !held.contains(number) && message.appended_at <= before)
            .map(|(number, message)| (message.appended_at, *number))
            .collect();
        over.sort_unstable();
        let more_over = over.len() > limit;
        over.truncate(limit);
        for (_, number) in &over {
            self.orders.remove(number);
            if let Some(message) = self.messages.remove(number) {
                self.ids.remove(&(message.tenant, message.id));
            }
        }
        ForgottenMessages {
            deliveries: ended.len() as u64,
            messages: over.len() as u64,
            more: more_ended || more_over,
        }
    }

    pub(super) fn forget_receipts(&mut self, before: Timestamp, limit: usize) -> u64 {
        let mut over: Vec<_> = self
            .receipts
            .iter()
            .filter(|(receipt, at)| {
                let identity = (receipt.tenant.clone(), receipt.message.clone());
                let is_here =
                    receipt.source == Source::outbox() && self.ids.contains_key(&identity);
                **at <= before && !is_here
            })
            .map(|(receipt, at)| (*at, receipt.clone()))
            .collect();
        over.sort();
        over.truncate(limit);
        for (_, receipt) in &over {
            self.receipts.remove(receipt);
        }
        over.len() as u64
    }
}
