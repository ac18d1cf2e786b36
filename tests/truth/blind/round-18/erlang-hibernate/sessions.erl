%% main [PORT, HIBERNATE]: a server keeps all sessions, and says how many of each kind there are in a part of them.
-module(sessions).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2]).

main([Port, Hibernates]) ->
    {ok, _} = gen_server:start_link({local, store}, ?MODULE, Hibernates, []),
    {ok, Listener} = gen_tcp:listen(list_to_integer(atom_to_list(Port)),
        [binary, {packet, http_bin}, {active, false}, {reuseaddr, true}, {ip, {127, 0, 0, 1}}, {backlog, 128}]),
    accept(Listener).

kind(Number) -> lists:nth(Number rem 4 + 1, [guest, member, admin, robot]).

init(Hibernates) ->
    Sessions = maps:from_list([{Number, {session, Number, kind(Number), [Number rem 13, Number rem 17]}}
        || Number <- lists:seq(1, 1000000)]),
    {ok, {Sessions, Hibernates}}.

handle_call({count, First}, _From, {Sessions, Hibernates} = State) ->
    Part = [maps:get(Number, Sessions) || Number <- lists:seq(First, First + 2000)],
    Counts = lists:foldl(fun({session, _, Kind, _}, Sums) ->
        maps:update_with(Kind, fun(Count) -> Count + 1 end, 1, Sums) end, #{}, Part),
    case Hibernates of
        true -> {reply, Counts, State, hibernate};
        false -> {reply, Counts, State}
    end.

handle_cast(_, State) -> {noreply, State}.

accept(Listener) ->
    {ok, Connection} = gen_tcp:accept(Listener),
    Child = spawn(fun() -> receive go -> serve(Connection) end end),
    ok = gen_tcp:controlling_process(Connection, Child),
    Child ! go,
    accept(Listener).

serve(Connection) ->
    case gen_tcp:recv(Connection, 0) of
        {ok, http_eoh} ->
            Counts = gen_server:call(store, {count, erlang:unique_integer([positive]) * 7919 rem 990000 + 1}),
            Body = iolist_to_binary(io_lib:format("~p~n", [Counts])),
            Head = io_lib:format("HTTP/1.1 200 OK\r\nContent-Length: ~b\r\n\r\n", [byte_size(Body)]),
            ok = gen_tcp:send(Connection, [Head, Body]),
            serve(Connection);
        {ok, _} -> serve(Connection);
        {error, _} -> gen_tcp:close(Connection)
    end.
