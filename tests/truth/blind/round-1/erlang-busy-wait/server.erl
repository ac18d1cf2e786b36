-module(server).
-export([start/1]).

start([Port]) ->
    [spawn(fun() -> heartbeat(Number) end) || Number <- lists:seq(1, 150)],
    spawn(fun() -> listen(list_to_integer(atom_to_list(Port))) end).

%% What each connection and queue of a broker does when nothing happens.
heartbeat(Number) ->
    timer:sleep(40 + Number rem 20),
    heartbeat(Number).

listen(Port) ->
    Options = [binary, {packet, http_bin}, {active, false}, {reuseaddr, true}, {backlog, 100}, {nodelay, true}],
    {ok, Listener} = gen_tcp:listen(Port, Options),
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn(fun() -> receive go -> serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    accept(Listener).

serve(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, http_eoh} ->
            _ = lists:sum([X * X || X <- lists:seq(1, 5000)]),
            ok = gen_tcp:send(Socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            serve(Socket);
        {ok, _} -> serve(Socket);
        {error, closed} -> ok
    end.
