"""Thresholds of connections, peers and name servers."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, factor, share, size_bytes


class NetworkPolicy(Family):
    title = "connections, peers and name servers"

    readers_peer_share = share(
        0.5,
        "Of several peers, the one that takes most of the waiting is what the readers of requests wait for.",
    )
    one_call_share = share(
        0.5,
        "Of all that a peer is asked for, what takes half of the time of its answers is what makes it slow.",
    )
    limit_held_share = share(
        0.5,
        "The largest number of outstanding calls is a limit if it lasts for half of the time in which more "
        "requests are in progress; a chance maximum lasts for a small part.",
    )
    limit_always_full_share = share(
        0.9,
        "From this part of the window on a limit is reached all the time, and not in bursts.",
    )
    limit_answers = count(
        20,
        "So many answers must come while that number is outstanding.",
    )
    limit_waited_share = share(
        0.9,
        "Of those answers, nearly all that come with more requests in progress must come while one has no call "
        "under way.",
    )
    limit_delayed_share = share(
        0.5,
        "A request that waits for its turn takes longer than its calls by at least half of one; long polls "
        "and sleeps do not make the calling requests slower.",
    )
    limit_awaited_share = share(
        0.5,
        "Where questions still go out during most of an outstanding call, several calls share a connection "
        "(HTTP/2, pipelines) and none waits for its turn.",
    )
    calls_behind_share = share(
        0.01,
        "Single questions behind others may be ends of calls whose answers were lost; one in a hundred shows that "
        "connections carry several calls at once.",
    )
    call_owners_known_share = share(
        0.5,
        "The calling requests are named if calls are known by request for this part of their time.",
    )
    retried_connect_ns = duration_ns(
        536_870_912,
        "A lost SYN is sent again after 1 s (then 3 s, 7 s): connects above half a second (a bucket's edge) "
        "were retried.",
    )
    failed_connects = count(
        10,
        "A few connects that fail happen wherever somebody restarts.",
    )
    deferred_connections = count(
        5,
        "One or two that send nothing come from a scan of ports.",
    )
    failed_connects_alone = count(
        3,
        "Where no connect succeeds, three that fail are no restart: who waits for a database tries every other second.",
    )
    own_drops_least = factor(
        0.5,
        "Where a queue of this host dropped half as many packets as segments were sent again, most were lost there.",
    )
    own_drops_most = factor(
        4,
        "A queue that dropped four times as many packets as segments were sent again mostly dropped others'.",
    )
    queued_segments = count(
        4,
        "An acknowledgement of one or two segments can come late with the answer; a queue holds several.",
    )
    dropped_here_share = share(
        0.5,
        "What this host drops itself explains losses if it is half of them: a packet can be lost again elsewhere.",
    )
    shaped_round_trip_share = share(
        0.5,
        "Where what is in flight takes half of the round trip at a shaper's rate, that is where most of it waits.",
    )
    alike_peers = count(
        3,
        "Two peers may ail alike by chance; where three with one port do, the cause is more likely common to all.",
    )
    connections_anew = count(
        10,
        "A pool makes a few connections while it is measured; who makes one for each call makes many.",
    )
    round_trips_of_connection = count(
        3,
        "One of TCP, and one or two of TLS.",
    )
    connections_share = share(
        0.1,
        "To keep connections open gives back what making them takes: of less than a tenth of the waits nobody sees it.",
    )
    calls_of_connection = count(
        4,
        "A connection for one call shows up to three more answers: those of a handshake of TLS 1.2, and of a greeting.",
    )
    retransmits = count(
        3,
        "One or two segments sent again in a window happen on any network.",
    )
    udp_drops = count(
        10,
        "A few datagrams are dropped wherever a service starts or stops.",
    )
    udp_drops_share = share(
        0.01,
        "Of datagrams that came so many were dropped: each is asked for again, after a timeout.",
    )
    retransmits_explain_share = share(
        0.5,
        "Calls held back by this host's kernel for so much of their time are explained by it.",
    )
    datagrams_answered_share = share(
        0.5,
        "Datagrams of which fewer than half had anything come back need not be questions.",
    )
    answers_kept_ns = duration_ns(
        50_000_000,
        "A server that loses its CPU before it has written the last piece keeps one answer back for a few ms; one "
        "that waits for an acknowledgement, or is forgotten in a corked socket, for 40 ms or more, again and again.",
    )
    delayed_ack_cluster_share = share(
        0.8,
        "Waits for a delayed acknowledgement have one length: this part of their time lies in one bucket, "
        "and both ends wait during it.",
    )
    delayed_ack_ns = duration_ns(
        10_000_000,
        "An acknowledgement from another host that comes so much later than the round trip was delayed.",
    )
    held_by_host_share = share(
        0.1,
        "Calls held back by this host's kernel for less of their time are not explained by it.",
    )
    round_trip_variation_share = share(
        0.5,
        "TCP expects a round trip to vary by half of the shortest one before it knows better (RFC 6298, 2.2).",
    )
    waits_for_batching = count(
        10,
        "Batches help where there are round trips to save: not with a handful, and not where each lasts as "
        "long as an outage.",
    )
    long_answer_ns = duration_ns(
        500_000_000,
        "Answers of half a second are outages or long work: batches save no round trips there.",
    )
    perhaps_awaited_share = share(
        0.25,
        "Where slow calls are outstanding for less of the window, most requests wait for something else.",
    )
    slow_answer_ns = duration_ns(
        10_000_000,
        "A network of one site answers sooner: the peer computes, reads a disk or queues. A local answer "
        "takes some 50 us and the peer's own work.",
    )
    herd_wakes_factor = factor(
        2,
        "One wake-up in two for nothing may be a race of two threads; from this factor on most of them are "
        "for nothing.",
    )
    herd_ends_factor = factor(
        1.25,
        "A connection wakes each waiting thread at most once: waits that end more often end by time limits.",
    )
    herd_woken_share = share(
        0.5,
        "Where every connection wakes at least every second thread, time limits do not just look alike.",
    )
    herd_alone_share = share(
        0.99,
        "Where all other threads run and queue for less than a hundredth of what the waiting ones do, "
        "nobody is in their way.",
    )
    prompt_answer_ns = duration_ns(
        1_000_000,
        "A peer that has its answer at hand gives it within a millisecond; a proxy or a tunnel does not "
        "show in TCP's round trip.",
    )
    prompt_round_trips = count(
        2,
        "An answer within two round trips is as fast as the network allows.",
    )
    windows_of_call = factor(
        2.0,
        "What fits into a receive window or two does not wait for it.",
    )
    windows_share = share(
        0.5,
        "The windows of a call take between half of its time and twice that, or something else holds it, too.",
    )
    silent_calls_share = share(
        0.25,
        "Where so many calls end without an answer, requests wait for those until they give up.",
    )
    chatty_calls = count(
        5,
        "Fewer calls than this for a request are how most things are built.",
    )
    chatty_many_calls = count(
        10,
        "So many calls for a request are too many even where a proxy on the way makes each of them longer.",
    )
    chatty_share = share(
        0.25,
        "Calls that take less of the requests' time are not worth the change.",
    )
    chatty_most_share = share(
        0.5,
        "Many calls that take most of the requests' time are what users wait for.",
    )
    chatty_endless_calls = count(
        100,
        "So many calls are no design: with what they cost on CPUs, some 20 us each, they take most of the request "
        "where their answers take a quarter.",
    )
    chatty_owned_share = share(
        0.5,
        "Where most calls are made for no request (in the background), none are counted per request.",
    )
    queued_round_trip_factor = factor(
        2.0,
        "A round trip of twice the shortest one means that packets queue on the way; on one host it means "
        "that two programs take turns on the CPUs.",
    )
    peers_told_apart = count(
        8,
        "So many peers or more, each of which takes less than a fault, are asked in turn: one finding tells them all.",
    )
    small_peers_together = count(
        4096,
        "Of more peers than so many, each of which takes little, the others change nothing of what is said of all.",
    )
    slow_start_rounds = count(
        3,
        "What takes fewer round trips from a window of ten segments (100 KB) is no matter of the window.",
    )
    slow_start_variation_factor = factor(
        1.5,
        "Beyond the round trips that a transfer takes, this much is acknowledgements and the peer's own work.",
    )
    small_window_segments = count(
        20,
        "Twice the window that every connection begins with: below it a connection is held by its start, "
        "not by the path.",
    )
    failed_before_sleeps_share = share(
        0.5,
        "Of sleeps to failed connects, and the other way round: about one for each is a pause before the next try.",
    )
    failed_connects_share = share(
        0.1,
        "One connect in ten that fails is a peer's fault or a limit's, not chance.",
    )
    lost_lookup_ns = duration_ns(
        536_870_912,
        "The C library asks again after 5 s, or whole seconds that resolv.conf sets: where most lookups are "
        "answered soon, waits above half a second (a bucket's edge) are lost queries or answers.",
    )
    silent_lookups = count(
        3,
        "A name server that has answered none of three look-ups does not answer: one or two may have got lost.",
    )
    dropped_connects = count(
        3,
        "One client that retries is no fault; each of three waited for at least a second.",
    )
    accepting_share = share(
        0.5,
        "A thread that waits for connections for half of the window accepts what comes: the connections "
        "came in a burst.",
    )
    idle_acceptors_share = share(
        0.1,
        "Threads that are busy for less than a tenth of their time could accept connections: something keeps them from"
        " it.",
    )
    slow_client_ns_per_byte = duration_ns(
        8,
        "A line of 1 Gbit/s: a client that takes a long answer as fast as that is not slow.",
    )
    large_answer_bytes = size_bytes(
        1_048_576,
        "An answer of a megabyte is more than a client needs for one request, unless it passes that on.",
    )
    large_for_answer = factor(
        20,
        "A server that receives twenty times as much as it passes on hardly needs most of it, unless it adds it up or"
        " stores it.",
    )
    slow_way_ns_per_byte = duration_ns(
        800,
        "A line of 10 Mbit/s: a way that carries a long answer as fast as that is a usual one, however far it goes.",
    )
    new_connections_share = share(
        0.8,
        "Where eight of ten requests have a connection of their own, connections are not kept; some have a second.",
    )


network_policy = NetworkPolicy()
