//! The processes of the lab that stand beside Surefoot, or use it as its users do. The lab starts them through this binary.

use surefoot_lab::LabError;
use surefoot_lab::plain::payments::{self, Manner, PaymentOptions};
use surefoot_lab::plain::points::{self, ConsumerOptions, NoInbox};

use super::inbox::StoreInbox;
use crate::args::{ConsumerManner, PaymentManner, PaymentServiceArgs, PointsConsumerArgs};
use crate::exit::Failed;
use crate::output;

pub(super) async fn serve_payments(args: PaymentServiceArgs) -> Result<(), Failed> {
    let options = PaymentOptions {
        manner: match args.manner {
            PaymentManner::CheckThenAct => Manner::CheckThenAct,
            PaymentManner::ChargeOnly => Manner::ChargeOnly,
        },
        database: args.payments,
        provider: args.provider,
    };
    Ok(payments::serve(options, output::write_line).await?)
}

pub(super) async fn consume(args: PointsConsumerArgs) -> Result<(), Failed> {
    let inbox = match args.manner {
        ConsumerManner::Naive => None,
        ConsumerManner::Idempotent => {
            let opened = StoreInbox::open(&args.account).await;
            Some(opened.map_err(|source| LabError::Database {
                what: "open the inbox",
                source,
            })?)
        }
    };
    let options = ConsumerOptions {
        database: args.account,
        broker: args.broker,
    };
    // Whoever started it waits for a line.
    let ready = || output::write_line("ready");
    match inbox {
        None => points::consume(options, NoInbox, ready).await?,
        Some(inbox) => points::consume(options, inbox, ready).await?,
    }
    Ok(())
}
