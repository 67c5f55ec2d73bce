//! Taking and marking.

use surefoot_core::id::{Epoch, SinkName};
use surefoot_core::message::{DeliveryState, MessageNumber, NextDelivery};
use surefoot_core::port::{
    Departed, Departure, Mark, Marked, TAKE_MAX, Take, TakenDelivery, TakenKey,
};
use surefoot_core::time::Timestamp;

use super::table::{MessageTable, Row};

impl MessageTable {
    pub(super) fn take(&mut self, take: &Take, now: Timestamp) -> Vec<TakenKey> {
        let mut fronts: Vec<_> = self
            .deliveries
            .iter()
            .filter(|((sink, number), row)| {
                *sink == take.sink
                    && may_be_taken(row, now)
                    && self.line(sink, *number).first() == Some(number)
            })
            .map(|((_, number), row)| (row.due_at, *number))
            .collect();
        fronts.sort_unstable();
        let mut left = TAKE_MAX as usize;
        let mut taken = Vec::new();
        for (_, front) in fronts.into_iter().take(take.keys_max as usize) {
            let of_key = left.min(take.per_key_max.max(1) as usize);
            if of_key == 0 {
                break;
            }
            let key = self.take_key(take, front, of_key, now);
            left -= key.deliveries.len();
            taken.push(key);
        }
        taken
    }

    fn take_key(
        &mut self,
        take: &Take,
        front: MessageNumber,
        of_key: usize,
        now: Timestamp,
    ) -> TakenKey {
        self.last_epoch += 1;
        let epoch = Epoch(self.last_epoch);
        let lease_until = now.after(take.lease);
        let mut deliveries = Vec::new();
        for (place, number) in self.line(&take.sink, front).into_iter().enumerate() {
            let Some(row) = self.deliveries.get_mut(&(take.sink.clone(), number)) else {
                continue;
            };
            let was_taken = matches!(row.delivery.state, DeliveryState::Taken { .. });
            if place >= of_key {
                if was_taken {
                    row.wait();
                }
                continue;
            }
            let had_left = row.delivery.lost == 0 || row.departed == row.epoch;
            row.delivery.lost += u32::from(was_taken && number == front && had_left);
            row.epoch = epoch;
            row.delivery.state = DeliveryState::Taken {
                holder: take.holder.clone(),
                epoch,
                lease_until,
            };
            let (failed, lost) = (row.delivery.failed, row.delivery.lost);
            if let Some(message) = self.messages.get(&number).cloned() {
                deliveries.push(TakenDelivery {
                    number,
                    message,
                    failed,
                    lost,
                });
            }
        }
        TakenKey {
            epoch,
            lease_until,
            deliveries,
        }
    }

    pub(super) fn depart(&mut self, departure: &Departure) -> Departed {
        let (sink, number) = (&departure.delivery.sink, departure.delivery.number);
        let is_front = self.line(sink, number).first() == Some(&number);
        match self.deliveries.get_mut(&(sink.clone(), number)) {
            Some(row)
                if is_front
                    && row.epoch == departure.epoch
                    && matches!(row.delivery.state, DeliveryState::Taken { .. }) =>
            {
                row.departed = row.epoch;
                Departed::Applied
            }
            Some(_) | None => Departed::Stale,
        }
    }

    pub(super) fn mark(&mut self, mark: &Mark) -> Marked {
        let (sink, number) = (&mark.delivery.sink, mark.delivery.number);
        let line = self.line(sink, number);
        let Some(row) = self.deliveries.get_mut(&(sink.clone(), number)) else {
            return Marked::Stale;
        };
        if row.epoch != mark.epoch {
            return Marked::Stale;
        }
        let is_taken = match row.delivery.state {
            DeliveryState::Taken { .. } => true,
            DeliveryState::Waiting { .. }
            | DeliveryState::Delivered { .. }
            | DeliveryState::Parked { .. }
            | DeliveryState::Skipped { .. } => false,
        };
        if !is_taken && is_already(row, &mark.next) {
            return Marked::Already;
        }
        if !is_taken || line.first() != Some(&number) {
            return Marked::Stale;
        }
        if !write(row, &mark.next) {
            self.give_back(sink, &line, mark.epoch);
        }
        Marked::Applied
    }

    /// Those of a line that were taken under an epoch wait again.
    fn give_back(&mut self, sink: &SinkName, line: &[MessageNumber], epoch: Epoch) {
        for number in line {
            if let Some(row) = self.deliveries.get_mut(&(sink.clone(), *number))
                && row.epoch == epoch
                && matches!(row.delivery.state, DeliveryState::Taken { .. })
            {
                row.wait();
            }
        }
    }
}

fn may_be_taken(row: &Row, now: Timestamp) -> bool {
    match &row.delivery.state {
        DeliveryState::Waiting { due_at, .. } => *due_at <= now,
        DeliveryState::Taken { lease_until, .. } => *lease_until <= now,
        DeliveryState::Delivered { .. }
        | DeliveryState::Parked { .. }
        | DeliveryState::Skipped { .. } => false,
    }
}

fn is_already(row: &Row, next: &NextDelivery) -> bool {
    matches!(
        (&row.delivery.state, next),
        (
            DeliveryState::Delivered { .. },
            NextDelivery::Delivered { .. }
        ) | (DeliveryState::Waiting { .. }, NextDelivery::Waiting { .. })
            | (DeliveryState::Parked { .. }, NextDelivery::Parked { .. })
    )
}

/// Answers whether the delivery has ended.
fn write(row: &mut Row, next: &NextDelivery) -> bool {
    match next {
        NextDelivery::Delivered { at, proof } => {
            row.delivery.state = DeliveryState::Delivered {
                at: *at,
                proof: proof.clone(),
            };
            true
        }
        NextDelivery::Waiting {
            due_at,
            error,
            failed,
        } => {
            row.due_at = *due_at;
            row.error = error.clone().or(row.error.take());
            row.delivery.failed = *failed;
            row.wait();
            false
        }
        NextDelivery::Parked { at, error, failed } => {
            row.error = Some(error.clone());
            row.delivery.failed = *failed;
            row.delivery.state = DeliveryState::Parked {
                at: *at,
                error: error.clone(),
            };
            false
        }
    }
}
